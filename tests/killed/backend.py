"""The server behind: calls that take a while, and notifications that come later. Nothing but the standard library.

    python backend.py NOTED

Tools: `work` (ms, token, told: whether it tells of progress) answers with its token after that time. `later` (ms,
token) answers at once, and sends a notification with its token after that time. The file NOTED has a line for each
token of `work` that came, and for each of a call that it was told to cancel. The one rule: it imports nothing of ours.
"""

import json
import sys
import threading

writing = threading.Lock()
tokens = {}


def say(message: dict) -> None:
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        sys.stdout.flush()


def note(what: str, token: str) -> None:
    with open(sys.argv[1], "a", encoding="utf-8") as file:
        file.write(f"{what} {token}\n")


def answer(request_id: object, text: str) -> None:
    say({"id": request_id, "result": {"content": [{"type": "text", "text": text}]}})


def work(request_id: object, params: dict) -> None:
    arguments = params["arguments"]
    tokens[request_id] = arguments["token"]
    note("came", arguments["token"])
    progress = params.get("_meta", {}).get("progressToken")
    if progress is not None and arguments.get("told"):
        say({"method": "notifications/progress", "params": {"progressToken": progress, "progress": 1}})
    threading.Timer(arguments["ms"] / 1000, answer, (request_id, arguments["token"])).start()


def later(request_id: object, params: dict) -> None:
    arguments = params["arguments"]
    told = {"method": "notifications/told", "params": {"token": arguments["token"]}}
    threading.Timer(arguments["ms"] / 1000, say, (told,)).start()
    answer(request_id, "later")


TOOLS = {"work": work, "later": later}


def result(method: str) -> dict:
    if method == "initialize":
        info = {"name": "killed", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if method == "tools/call":
            TOOLS[params["name"]](message["id"], params)
        elif method in ("initialize", "tools/list"):
            say({"id": message["id"], "result": result(method)})
        elif method == "notifications/cancelled":
            note("cancelled", tokens.get(params["requestId"], "?"))
        elif "id" in message:
            say({"id": message["id"], "error": {"code": -32601, "message": f"Method not found: {method}"}})


if __name__ == "__main__":
    main()
