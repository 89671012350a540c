"""Two tools in Python, inside a gateway of one's own: `python examples/local_tools.py`, then call them over HTTP.

It shows what a tool can ask: the client's model, and the person behind it. Where nobody can be asked, it goes on.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from emceepee.app import serve_http
from emceepee.config.settings import Settings
from emceepee.tools import AskFailed, LocalServer, ToolContext, ToolError

poems = LocalServer("poems", "1.0", instructions="Poems of one line.")


@dataclass
class Poem:
    text: str
    mood: str | None = None


@poems.tool(readOnlyHint=True)
async def read(text: str, ctx: ToolContext) -> Poem:
    """Reads a poem, and says what mood it is in if there is a model to ask."""
    if not text.strip():
        raise ToolError("there is no poem in 'text'")
    if ctx.sampler is None:
        return Poem(text)
    try:
        return Poem(
            text, await ctx.sampler.ask(f"In one word, what is the mood of this poem?\n\n{text}", max_tokens=10)
        )
    except AskFailed as failed:
        ctx.log.warning(f"no mood: {failed}")
        return Poem(text)


@poems.tool
async def sign(text: str, ctx: ToolContext) -> str:
    """Puts a name under a poem, which its reader is asked for."""
    if ctx.elicitor is None:
        return f"{text}\n  Anonymous"
    given = await ctx.elicitor.ask("Whose poem is it?", {"name": {"type": "string", "title": "Name"}})
    return f"{text}\n  {given.content['name'] if given.content else 'Anonymous'}"


if __name__ == "__main__":
    asyncio.run(serve_http(Settings(port=8080), [], print, local=[poems]))
