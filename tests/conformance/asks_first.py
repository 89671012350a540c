"""A server for `tasks-mrtr-composition`: its tool asks for a name, and makes a task of the call that brings it.

    python asks_first.py PORT

FastMCP's server makes its task before it asks, which the suite refuses and FastMCP lists as expected to fail. What is
asked comes with a state that has to come back byte for byte. The one rule: a call that does not declare tasks is
refused, and one without that state is asked, so nothing but the whole way leads to a task.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REVISION = "2026-07-28"
EXTENSION = "io.modelcontextprotocol/tasks"
META = "io.modelcontextprotocol/"
TOOL = "test_tool_with_task"
STATE = "round 1 \u00e9 of the server's own"
TASK_SECONDS = 0.6
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASK = {"method": "elicitation/create", "params": {"mode": "form", "message": "Your name?", "requestedSchema": FORM}}

Json = dict[str, Any]


class Refused(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class AsksFirst:
    def __init__(self) -> None:
        self._tasks: dict[str, tuple[str, float]] = {}
        """Whose name, and when it is done."""

    def answer(self, method: str, params: Json) -> Json:
        match method:
            case "server/discover":
                offers = {"tools": {}, "extensions": {EXTENSION: {}}}
                return {"supportedVersions": [REVISION], "capabilities": offers, "ttlMs": 0, "cacheScope": "private"}
            case "tools/list":
                tool = {"name": TOOL, "description": "Greets by name, as a task.", "inputSchema": {"type": "object"}}
                return {"tools": [tool], "ttlMs": 0, "cacheScope": "private"}
            case "tools/call":
                return self._call(params)
            case "tasks/get":
                return self._stands(params.get("taskId"))
            case "tasks/cancel":
                self._tasks.pop(params.get("taskId"), None)
                return {}
        raise Refused(-32601, f"Method not found: {method}")

    def _call(self, params: Json) -> Json:
        if params.get("name") != TOOL:
            raise Refused(-32602, f"no such tool: {params.get('name')}")
        if EXTENSION not in params["_meta"].get(META + "clientCapabilities", {}).get("extensions", {}):
            data = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise Refused(-32021, f"{TOOL} is only done as a task", data)
        given = params.get("inputResponses", {}).get("user_name", {})
        if given.get("action") != "accept" or params.get("requestState") != STATE:
            return {"resultType": "input_required", "inputRequests": {"user_name": ASK}, "requestState": STATE}
        task_id = f"task-{len(self._tasks) + 1}"
        self._tasks[task_id] = given["content"]["name"], time.monotonic() + TASK_SECONDS
        return {"resultType": "task", **_task(task_id, "working")}

    def _stands(self, task_id: Any) -> Json:
        if task_id not in self._tasks:
            raise Refused(-32602, f"no such task: {task_id}")
        name, done_at = self._tasks[task_id]
        if time.monotonic() < done_at:
            return _task(task_id, "working")
        result = {"resultType": "complete", "content": [{"type": "text", "text": f"Hello, {name}"}]}
        return {**_task(task_id, "completed"), "result": result}


def _task(task_id: str, status: str) -> Json:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {
        "taskId": task_id, "status": status, "createdAt": now, "lastUpdatedAt": now, "ttlMs": 60_000,
        "pollIntervalMs": 200,
    }  # fmt: skip


def reply(server: AsksFirst, message: Json) -> Json:
    """The answer to one request."""
    said: Json = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        if message["params"]["_meta"][META + "protocolVersion"] != REVISION:
            raise Refused(-32022, "Unsupported protocol version", {"supported": [REVISION]})
        result = server.answer(message["method"], message["params"])
    except Refused as refusal:
        return said | {"error": refusal.error}
    except (KeyError, TypeError, AttributeError) as error:
        return said | {"error": {"code": -32602, "message": f"cannot be read: {error!r}"}}
    meta = {META + "serverInfo": {"name": "asks-first", "version": "1"}}
    return said | {"result": {"resultType": "complete", "_meta": meta, **result}}


def _handler(server: AsksFirst) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if "id" not in message:
                self._send(202, b"")
                return
            answer = reply(server, message)
            self._send(400 if "error" in answer else 200, json.dumps(answer).encode())

        def do_GET(self) -> None:
            self._send(405, b"")

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: Any) -> None:
            pass

    return Handler


def main() -> None:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _handler(AsksFirst())).serve_forever()


if __name__ == "__main__":
    main()
