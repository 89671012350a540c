#!/usr/bin/env python3
"""A server that can be made to die, to see what a gateway makes of it: docs/recovery.md does.

It speaks the handshake era (2025-11-25) over its standard streams and needs nothing but Python. Its one rule: it dies
in the middle of a call, so that nobody can know what the call has done.
"""

import json
import os
import sys

TOOLS = [
    {
        "name": "who",
        "description": "The process that answers.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "crash",
        "description": "Ends this server instead of answering.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"destructiveHint": True},
    },
]


def answer(method, params):
    """The result of one request, or None for a method that this server does not have."""
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "fragile", "version": "1.0.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params.get("name") == "crash":
        os._exit(3)
    if method == "tools/call" and params.get("name") == "who":
        return {"content": [{"type": "text", "text": f"process {os.getpid()}"}]}
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
