"""A client on the official Python SDK, talking to the gateway's meta-tools.

    pip install mcp
    python examples/python_client.py [URL]      # default: http://127.0.0.1:8080/mcp

It finds a tool, calls it, and follows the progress of a slow one. Nothing in it is peculiar to emceepee but the names
of the meta-tools. Its one rule: it needs a gateway with the server `demo`, which `make run` starts.
"""

import asyncio
import sys

from mcp import Client

URL = "http://127.0.0.1:8080/mcp"


async def tell(progress: float, total: float | None, message: str | None) -> None:
    print(f"  {progress:g} of {total or 0:g}: {message or ''}")


async def main(url: str) -> None:
    async with Client(url) as client:
        print(f"speaking {client.protocol_version}")

        found = await client.call_tool("list_tools", {"query": "sum of two numbers", "detail": "names"})
        print(found.content[0].text)

        result = await client.call_tool("execute_tool", {"server": "demo", "tool": "add", "args": {"a": 2, "b": 40}})
        print(result.structured_content)

        slow = {"server": "demo", "tool": "countdown", "args": {"steps": 3, "seconds": 0.2}}
        result = await client.call_tool("execute_tool", slow, progress_callback=tell)
        print(result.content[0].text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else URL))
