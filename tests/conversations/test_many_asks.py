"""Many questions at once: each call's come in their order, and each answer goes back to whoever asked."""

from __future__ import annotations

import asyncio
import random

import pytest

from emceepee.app import Gateway
from emceepee.config.settings import Settings
from emceepee.tools import LocalServer, ToolContext
from tests.conversations.asked import HttpAsked, http_client
from tests.conversations.house import House
from tests.sampling.models import said

ROUNDS = 2


def chance(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - an order, the same each time


def asking() -> LocalServer:
    server = LocalServer("asker")

    @server.tool
    async def chat(who: str, ctx: ToolContext) -> list[str]:
        """Asks again and again, each time after the answer before."""
        assert ctx.sampler is not None
        return [await ctx.sampler.ask(f"{who}/{number}") for number in range(ROUNDS)]

    return server


def house_of() -> House:
    house = House({})
    house.gateway = Gateway(Settings(auto_connect=False), environment={}, clock=house.clock, local=[asking()])
    return house


async def answer_all(client: HttpAsked, who: list[str], order: random.Random) -> None:
    """Every call of one client at once; what is asked is answered in any order, with the question's own words."""
    calls = {name: client.call("chat", arguments={"who": name}) for name in who}
    for number in range(ROUNDS):
        asks = [(name, await client.next_ask(call)) for name, call in calls.items()]
        assert [ask["params"]["messages"][0]["content"]["text"] for _, ask in asks] == [f"{n}/{number}" for n in who]
        order.shuffle(asks)
        for name, ask in asks:
            await client.reply(ask, said(f"for {name}/{number}"))
    for name, call in calls.items():
        text = (await client.result(call))["content"][0]["text"]
        assert text == str([f"for {name}/{number}" for number in range(ROUNDS)]).replace("'", '"').replace(", ", ",")


@pytest.mark.shows("D-SMP-06", "D-SMP-09", "X-BUG-68")
async def test_a_hundred_at_once_in_one_workspace_keep_their_order_and_their_owner() -> None:
    house = house_of()
    client = await http_client(house, "/servers/asker/mcp", sampling={})
    await answer_all(client, [f"call-{number}" for number in range(100)], chance(1))
    await house.close()


@pytest.mark.shows("D-SMP-09", "X-BUG-68")
async def test_a_thousand_over_all_keep_their_order_and_their_owner() -> None:
    house = house_of()
    clients = [await http_client(house, "/servers/asker/mcp", sampling={}) for _ in range(10)]
    await asyncio.gather(
        *(
            answer_all(client, [f"client-{index}-{number}" for number in range(100)], chance(index))
            for index, client in enumerate(clients)
        )
    )
    assert house.gateway.load()["calls"] == 0
    await house.close()
