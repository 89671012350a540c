"""A stdio MCP server that breaks on command, as a program.

    python pipe_server.py FOLDER        what it does stands in FOLDER/control (JSON), read at its start and at SIGUSR1

Tools: `echo` (at once), `slow` (after `seconds`, says its `key`), `work` (never answers by itself), `ask` (elicits, and
answers with what it was answered). It appends its process id to FOLDER/pids and the `key` of each `tools/call` to
FOLDER/ledger. At SIGUSR1 it does to what is open, and from then on to what comes, what `fault` in the control file
says; at SIGUSR2 it tells of a changed resource.

The one rule: it imports nothing but the standard library.
"""

import json
import os
import signal
import sys
import threading
import time

GIANT = 2**18
URI = "file:///watched"
QUESTION = {
    "message": "Which one?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
FOLDER = sys.argv[1]


class Server:
    def __init__(self):
        self.fault = ""
        self.tools = ["echo", "work", "ask"]
        self.version = "1"
        self.running = []
        self.asking = {}
        self.subscribed = False
        self.writing = threading.RLock()

    def read_control(self, *_):
        try:
            with open(os.path.join(FOLDER, "control"), encoding="utf-8") as file:
                control = json.load(file)
        except (OSError, ValueError):
            return
        self.fault = control.get("fault", "")
        self.version = control.get("version", "1")
        self.tools = ["echo", "work", "ask", *control.get("tools", [])]

    def broken(self, *_):
        self.read_control()
        for request in list(self.running or [None]):
            self.fail(request)

    def updated(self, *_):
        if self.subscribed:
            self.say({"method": "notifications/resources/updated", "params": {"uri": URI}})

    def raw(self, data):
        # Not through sys.stdout: a signal may come in the middle of its writing.
        with self.writing:
            while data:
                data = data[os.write(1, data) :]

    def say(self, message):
        self.raw(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def line(self, line):
        message = json.loads(line)
        method, request, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "tools/call":
            with open(os.path.join(FOLDER, "ledger"), "a", encoding="utf-8") as file:
                file.write(params.get("arguments", {}).get("key", "") + "\n")
        if method is None:
            call = self.asking.pop(request, None)
            if call is not None and not self.fault:
                text = json.dumps(message.get("result"))
                self.say({"id": call, "result": {"content": [{"type": "text", "text": text}]}})
        elif request is None:
            return
        elif self.fault:
            self.fail(request)
        elif method == "tools/call" and params["name"] == "work":
            self.running.append(request)
        elif method == "tools/call" and params["name"] == "ask":
            self.asking[f"ask-{request}"] = request
            self.say({"id": f"ask-{request}", "method": "elicitation/create", "params": QUESTION})
        elif method == "tools/call" and params["name"] == "slow":
            text = {"type": "text", "text": params["arguments"]["key"]}
            late = (self.say, ({"id": request, "result": {"content": [text]}},))
            threading.Timer(params["arguments"]["seconds"], *late).start()
        else:
            self.answer(request, method, params)

    def answer(self, request, method, params):
        result = self.result(method, params)
        if result is None:
            self.say({"id": request, "error": {"code": -32601, "message": "no such method: " + method}})
        else:
            self.say({"id": request, "result": result})

    def result(self, method, params):
        if method == "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}},
                "serverInfo": {"name": "faulty", "version": self.version},
            }
        if method == "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]}
        if method == "resources/list":
            return {"resources": [{"uri": URI, "name": "watched"}]}
        if method == "resources/subscribe":
            self.subscribed = True
            return {}
        if method == "tools/call" and params["name"] in self.tools:
            return {"content": [{"type": "text", "text": "done by " + self.version}]}
        if method == "ping":
            return {}
        return None

    def fail(self, request):
        """Instead of an answer; `request` is None where nothing was asked."""
        if self.fault == "reset before the answer":
            os.close(1)
        elif self.fault == "reset in the middle":
            self.raw(b'{"jsonrpc":"2.0","id":')
            os.close(1)
        elif self.fault == "slow loris":
            threading.Thread(target=self.drip, daemon=True).start()
        elif self.fault == "rubbish":
            self.raw(b"listening on port 3000\n")
        elif self.fault == "oversized" and request is not None:
            self.raw(b'{"jsonrpc":"2.0","id":' + json.dumps(request).encode() + b',"result":{"x":"')
            for _ in range(GIANT >> 16):
                self.raw(b"x" * 2**16)
            self.raw(b'"}}\n')
        elif self.fault in ("exit 0", "exit 1"):
            os._exit(int(self.fault[-1]))

    def drip(self):
        while True:
            self.raw(b" ")
            time.sleep(0.03)


def main():
    server = Server()
    server.read_control()
    with open(os.path.join(FOLDER, "pids"), "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    if server.fault == "crash loop":
        sys.stderr.write("cannot find my configuration\n")
        sys.exit(3)
    signal.signal(signal.SIGUSR1, server.broken)
    signal.signal(signal.SIGUSR2, server.updated)
    for line in sys.stdin:
        server.line(line)


if __name__ == "__main__":
    main()
