#!/usr/bin/env python3
"""A whole MCP server in one small file, for the examples: it tells the time.

It speaks the handshake era (2025-11-25) over its standard streams and needs nothing but Python. It is not a way to
write servers: use the SDK of your language for that. Its one rule: stdout belongs to the protocol.

    emceepee tools -- python3 examples/clock_server.py
    emceepee call now -- python3 examples/clock_server.py
"""

import json
import sys
import time

TOOLS = [
    {
        "name": "now",
        "description": "The current time of this machine, in UTC.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "weekday",
        "description": "The day of the week of a date.",
        "inputSchema": {
            "type": "object",
            "properties": {"date": {"type": "string", "description": "as 2026-07-28"}},
            "required": ["date"],
        },
        "annotations": {"readOnlyHint": True, "idempotentHint": True},
    },
]


def call(name, arguments):
    """The result of one tool call."""
    try:
        if name == "now":
            return text(time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()))
        return text(time.strftime("%A", time.strptime(arguments["date"], "%Y-%m-%d")))
    except (KeyError, TypeError, ValueError):
        return {**text("'date' must be a date such as 2026-07-28"), "isError": True}


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def answer(method, params):
    """The result of one request, or None for a method that this server does not have."""
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "clock", "version": "1.0.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params.get("name") in ("now", "weekday"):
        return call(params["name"], params.get("arguments") or {})
    return None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": f"not served here: {message['method']}"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
