"""emceepee as a program of one's own: a tool in Python that asks its caller's model, and one server beside it.

    python -m bench.local_gateway PORT URL

The one rule: nothing is in it that `emceepee serve` has not, but the tool.
"""

from __future__ import annotations

import asyncio
import sys

import uvloop

from bench.backend_asking import QUESTION
from emceepee.app import serve_http
from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from emceepee.config.settings import Settings
from emceepee.tools import LocalServer, ToolContext

local = LocalServer("local")


@local.tool
async def sample(ctx: ToolContext) -> str:
    """Asks the caller's model, and gives what it said."""
    return await ctx.sampler.ask(QUESTION) if ctx.sampler is not None else "nobody is there"


if __name__ == "__main__":
    server = ServerDefinition("relayed", HttpEndpoint(sys.argv[2]))
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(serve_http(Settings(port=int(sys.argv[1])), [server], local=[local]))
