"""What every Python driver does: read the plan, do its steps with one client, print one JSON line for each.

A plan is `{"url"} or {"command", "args"}`, `mode` for clients that have one, and `steps`, each `{"name", "do", "with"}`
and maybe `until`: the step is done again until its value holds that, since a list does not wait for a slow server.
It runs in the interpreters of other people's clients and imports nothing of ours. The one rule: a step that fails is
told and the next is done, so that one run shows everything.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

STEP_SECONDS = 20

Plan = dict[str, Any]


class Driver:
    """One client, connected. A driver gives these; `cancel` is made of them."""

    async def tools(self) -> Any:
        raise NotImplementedError

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        raise NotImplementedError

    async def read(self, uri: str) -> Any:
        raise NotImplementedError

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        raise NotImplementedError

    async def give_up(self, call: "asyncio.Task[Any]") -> None:
        """How this client cancels. Most send the cancellation when whoever waits for the call is cancelled."""
        call.cancel()

    async def progress(self, name: str, arguments: dict[str, Any]) -> Any:
        heard: list[float] = []

        async def on_progress(done: float, total: float | None, message: str | None) -> None:
            heard.append(done)

        answer = await self.call(name, arguments, on_progress)
        return {**answer, "progress": heard}

    async def asked(self, what: str, rounds: int, at_once: int, first: int = 0) -> Any:
        """Calls that ask, several at once; those whose answer is not to their own question."""
        wrong: list[Any] = []
        for number in range(first, first + rounds * at_once, at_once):
            numbers = range(number, number + at_once)
            calls = (self.call("ask", {"what": what, "number": one}) for one in numbers)
            for one, answer in zip(numbers, await asyncio.gather(*calls), strict=True):
                if answer["texts"] != [f"accept: color {one}"]:
                    wrong.append([one, answer])
        return wrong

    async def cancel(self, name: str, arguments: dict[str, Any]) -> Any:
        begun = asyncio.Event()

        async def on_progress(done: float, total: float | None, message: str | None) -> None:
            begun.set()

        call = asyncio.ensure_future(self.call(name, arguments, on_progress))
        await asyncio.wait([call, asyncio.ensure_future(begun.wait())], return_when=asyncio.FIRST_COMPLETED)
        if call.done():
            return {"ended": str(call.result())}
        await self.give_up(call)
        await asyncio.wait([call])
        return {"ended": "cancelled" if call.cancelled() else repr(call.exception() or call.result())}


def color_of(message: str) -> dict[str, str]:
    """What is answered to `color 7?`."""
    return {"color": message.rstrip("?")}


def texts_of(blocks: Any) -> list[str]:
    return [getattr(block, "text", "") for block in blocks]


def text_of(blocks: Any) -> str:
    return "".join(texts_of(blocks))


def run(connect: Callable[[Plan], AbstractAsyncContextManager[Driver]]) -> None:
    plan = json.loads(sys.argv[1])
    asyncio.run(_run(plan, connect))


async def _run(plan: Plan, connect: Callable[[Plan], AbstractAsyncContextManager[Driver]]) -> None:
    async with connect(plan) as driver:
        for step in plan["steps"]:
            do: Callable[..., Awaitable[Any]] = getattr(driver, step["do"])
            try:
                async with asyncio.timeout(STEP_SECONDS):
                    value = await do(**step["with"])
                    while "until" in step and step["until"] not in value:
                        await asyncio.sleep(0.2)
                        value = await do(**step["with"])
                told = {"value": value}
            except Exception as error:  # noqa: BLE001 -- it is what the run shows
                told = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps({"step": step["name"], **told}), flush=True)
