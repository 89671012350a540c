"""A stdio MCP server as a real program, with nothing but the standard library, which can be told to behave badly.

    python stdio_server.py --era legacy|modern|both   which eras it speaks; the other is answered as real servers do
        --exit-on-probe          ends on any request before `initialize` (as servers on rmcp do)
        --silent-on-unknown      never answers a method it does not know
        --slow-start SECONDS     reads nothing for a while
        --rubbish                prints a line that is no message before each answer
        --exit-with CODE         says a word on stderr and exits at once
        --ignore-sigterm         and grandchildren ignore it too
        --ignore-eof             goes on when its input ends
        --grandchildren N        starts that many children of its own, which do nothing
        --leave-group            the grandchildren lead groups of their own, as browsers do
        --pids FILE              appends its own process id and theirs
        --wire FILE              appends each line it receives
        --deaf                   never reads its input

Tools: echo, add, slow (seconds; progress; can be cancelled), env, pid, say_on_stderr, big (bytes), crash (code).

The one rule: it imports nothing of ours, so that it is a second opinion on the wire.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

MODERN = "2026-07-28"
META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_SERVER = "io.modelcontextprotocol/serverInfo"
INFO = {"name": "stdio-server", "version": "1"}
CAPABILITIES = {"tools": {}, "logging": {}}
ANYTHING = {"type": "object"}
TOOLS = ("echo", "add", "slow", "env", "pid", "say_on_stderr", "big", "crash")
NAP = "import signal, sys, time\nif sys.argv[1:]: signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"


class Refusal(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Server:
    def __init__(self, options):
        self.options = options
        self.writing = threading.Lock()
        self.initialized = False
        self.running = {}

    def say(self, message):
        with self.writing:
            if self.options.rubbish:
                sys.stdout.write("this is no message\n")
            sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
            sys.stdout.flush()

    def line(self, line):
        if self.options.wire:
            with open(self.options.wire, "a", encoding="utf-8") as file:
                file.write(line)
        message = json.loads(line)
        method = message.get("method")
        if method == "notifications/cancelled":
            stop = self.running.get(message["params"]["requestId"])
            if stop is not None:
                stop.set()
        if method is None or "id" not in message:
            return
        if self.options.exit_on_probe and not self.initialized and method != "initialize":
            sys.exit("expected initialize, got " + method)
        try:
            self.request(message["id"], method, message.get("params") or {})
        except Refusal as refusal:
            self.say({"id": message["id"], "error": refusal.error})

    def request(self, request_id, method, params):
        modern = META_VERSION in (params.get("_meta") or {})
        self.check_era(method, params, modern)
        if method == "tools/call" and params.get("name") == "slow":
            stop = self.running[request_id] = threading.Event()
            threading.Thread(target=self.slow, args=(request_id, params, stop, modern), daemon=True).start()
            return
        result = self.result(method, params)
        if result is not None:
            self.say({"id": request_id, "result": stamped(method, result) if modern else result})

    def check_era(self, method, params, modern):
        if modern and self.options.era == "legacy":
            if method != "initialize" and not self.initialized and not self.options.silent_on_unknown:
                raise Refusal(-32601, "Method not found: " + method)
        elif modern and params["_meta"][META_VERSION] != MODERN:
            raise Refusal(-32022, "Unsupported protocol version", {"supported": [MODERN]})
        elif not modern and self.options.era == "modern":
            if method == "initialize":
                raise Refusal(-32022, "Unsupported protocol version", {"supported": [MODERN]})
            raise Refusal(-32602, "_meta lacks the protocol version")

    def result(self, method, params):
        if method == "initialize":
            self.initialized = True
            return {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": INFO}
        if method == "server/discover" and self.options.era != "legacy":
            return {"supportedVersions": [MODERN], "capabilities": CAPABILITIES}
        if method in ("ping", "logging/setLevel"):
            return {}
        if method == "tools/list":
            return {"tools": [{"name": name, "inputSchema": ANYTHING} for name in TOOLS]}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": self.call(params["name"], params.get("arguments") or {})}]}
        if self.options.silent_on_unknown:
            return None
        raise Refusal(-32601, "Method not found: " + method)

    def call(self, name, arguments):
        if name == "echo":
            return arguments.get("text", "")
        if name == "add":
            return str(arguments["a"] + arguments["b"])
        if name == "env":
            return json.dumps(dict(os.environ))
        if name == "pid":
            return str(os.getpid())
        if name == "say_on_stderr":
            sys.stderr.write(arguments["text"] + "\n")
            return "said"
        if name == "big":
            return "x" * arguments["bytes"]
        if name == "crash":
            sys.stderr.write("crashing as told\n")
            sys.stderr.flush()
            os._exit(arguments.get("code", 1))
        raise Refusal(-32602, "Unknown tool: " + name)

    def slow(self, request_id, params, stop, modern):
        seconds = params["arguments"].get("seconds", 60)
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            progress = {"progressToken": token, "progress": 1, "total": 2}
            self.say({"method": "notifications/progress", "params": progress})
        if stop.wait(seconds):
            return
        result = {"content": [{"type": "text", "text": "done"}]}
        self.say({"id": request_id, "result": stamped("tools/call", result) if modern else result})


def stamped(method, result):
    hints = {"ttlMs": 0, "cacheScope": "private"} if method.endswith("/list") or method == "server/discover" else {}
    return {"resultType": "complete", "_meta": {META_SERVER: INFO}} | hints | result


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=("legacy", "modern", "both"), default="legacy")
    flags = ("--exit-on-probe", "--silent-on-unknown", "--rubbish", "--ignore-sigterm", "--ignore-eof", "--deaf")
    for flag in (*flags, "--leave-group"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--slow-start", type=float, default=0)
    parser.add_argument("--exit-with", type=int)
    parser.add_argument("--grandchildren", type=int, default=0)
    parser.add_argument("--pids")
    parser.add_argument("--wire")
    return parser.parse_args()


def start_grandchildren(options):
    command = [sys.executable, "-I", "-S", "-c", NAP] + (["stubborn"] if options.ignore_sigterm else [])
    apart = options.leave_group
    children = [subprocess.Popen(command, start_new_session=apart) for _ in range(options.grandchildren)]
    if options.pids:
        with open(options.pids, "a", encoding="utf-8") as file:
            file.write("".join(f"{pid}\n" for pid in (os.getpid(), *(child.pid for child in children))))


def main():
    options = read_options()
    if options.ignore_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    start_grandchildren(options)
    if options.exit_with is not None:
        sys.stderr.write("told to exit\n")
        sys.exit(options.exit_with)
    time.sleep(options.slow_start)
    server = Server(options)
    if not options.deaf:
        for line in sys.stdin:
            server.line(line)
    while options.ignore_eof or options.deaf:
        time.sleep(60)


if __name__ == "__main__":
    main()
