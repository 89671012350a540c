"""Held calls made and abandoned by the thousand: `python -m tests.soak.holds [--holds N] [--seed N]`.

The whole gateway in one process, with a hand-moved clock: clients of a hundred callers are sent away with a question,
and most of them never return, or go away in the middle; some more are begun than there may be. It prints its figures
and ends with 1 when a server that asked was left without an end, when anything is held or remembered afterwards, or
when memory did not come back.

The one rule: what each server heard is counted by its side of the wire.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import gc
import random
import sys
import tracemalloc
from collections import Counter
from typing import Any

from emceepee.config.settings import DEFAULTS, Limits, Settings
from emceepee.protocol.messages import Failure, Request, Result
from emceepee.vocabulary.raw_json import read_value
from tests.conversations.house import House, Json, response_of
from tests.support.fake_clock import settle
from tests.support.scripted_backend import ScriptedBackend, Turn

FORM: Json = {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPT: Json = {"action": "accept", "content": {}}
CALLERS = 100
AT_ONCE = 1_250
SPARE = 50
"""How many more are begun at once than there may be."""
GROWTH_PER_HOLD = 64
"""Bytes that may be left of each, from the second wave on; one that stayed would be thousands."""


async def _paint(turn: Turn) -> Any:
    """Asks; ends when a person accepted, and otherwise when it is cancelled."""
    answer = await turn.ask("elicitation/create", FORM, f"ask-{turn.id}")
    if isinstance(answer, Result) and read_value(answer.result).get("action") == "accept":
        return {"content": []}
    await asyncio.Event().wait()
    return None


class Soak:
    def __init__(self, seed: int) -> None:
        limits = Limits(max_holds=AT_ONCE, max_holds_each=AT_ONCE // CALLERS + 5)
        settings: Settings = dataclasses.replace(DEFAULTS, limits=limits)
        self.backend = ScriptedBackend(answers={"tools/call": _paint})
        self.house = House({"shop": self.backend}, settings=settings)
        self.house.gateway.front._identify = lambda exchange: dict(exchange.headers)[b"x-who"].decode()
        self.chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
        self.figures: Counter[str] = Counter()
        self.problems: list[str] = []

    async def wave(self) -> None:
        """So many at once, each with its own fate; afterwards nothing is left of any."""
        client = self.house.modern_client("/servers/shop/mcp", {"elicitation": {}})
        started = []
        for number in range(AT_ONCE + SPARE):
            who = {"x-who": f"caller-{number % CALLERS}"}
            started.append(
                (who, client.start("tools/call", {"name": "paint", "arguments": {"n": number}}, headers=who))
            )
            if number % 50 == 0:
                await settle(60)
        await settle(300)
        await self.house.clock.advance(0.03)
        await settle(300)
        self.figures["most held"] = max(self.figures["most held"], len(self.house.gateway.holds))
        for number, (who, call) in enumerate(started):
            if call.complete:
                await self._come_back(client, number, who, response_of(call)["result"])
            else:
                self.figures["not held: the limit"] += 1
                call.leave()
        await settle(300)
        for seconds in (15.0, 600.0, 5.0, 120.0):
            await self.house.clock.advance(seconds)
            await settle(100)
        self._count()
        self.house.forget_clients()

    async def _come_back(self, client: Any, number: int, who: dict[str, str], told: Json) -> None:
        fate = self.chance.choice(("never", "never", "never", "answers", "goes away", "answers nothing"))
        self.figures[fate] += 1
        if fate == "never":
            return
        (key,) = told["inputRequests"]
        answers = {} if fate == "answers nothing" else {key: ACCEPT if fate == "answers" else {"action": "decline"}}
        state = {"requestState": told["requestState"], "inputResponses": answers}
        again = client.start("tools/call", {"name": "paint", "arguments": {"n": number}} | state, headers=who)
        await settle(20)
        if fate == "goes away":
            again.leave()

    def _count(self) -> None:
        received = self.backend.received
        calls = [one.id for one in received if isinstance(one, Request) and one.method == "tools/call"]
        answers = [one for one in received if isinstance(one, Result | Failure)]
        said = Counter(read_value(one.result)["action"] for one in answers if isinstance(one, Result))
        self.figures["calls"] += len(calls)
        self.figures.update({f"heard {action}": number for action, number in said.items()})
        self.figures["heard that nobody waits"] += len(self.backend.cancelled)
        if len(answers) != len(calls):
            self.problems.append(f"{len(calls)} questions had {len(answers)} answers")
        if len(self.backend.cancelled) + said["accept"] != len(calls):
            self.problems.append(
                f"of {len(calls)} calls {said['accept']} ended, {len(self.backend.cancelled)} were cancelled"
            )
        left = {"held": len(self.house.gateway.holds), "remembered": self.house.gateway.holds.remembered}
        self.problems += [f"{number} still {what}" for what, number in left.items() if number]
        received.clear()
        self.backend.cancelled.clear()
        for connection in self.backend.connections:
            connection.answers.clear()

    async def close(self) -> None:
        await self.house.close()


async def soak(holds: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Figures, and what was wrong."""
    stage = Soak(seed)
    sizes: list[int] = []
    tracemalloc.start()
    while stage.figures["calls"] < holds:
        await stage.wave()
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
        stage.figures[f"KiB after wave {len(sizes)}"] = sizes[-1] // 1024
    tracemalloc.stop()
    later = sizes[1:] or sizes
    allowed = GROWTH_PER_HOLD * (AT_ONCE + SPARE) * len(later)
    if later[-1] > later[0] + allowed:
        stage.problems.append(f"memory grew from {later[0]:,} to {later[-1]:,} bytes; {allowed:,} may stay")
    await stage.close()
    return stage.figures, stage.problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.holds")
    parser.add_argument("--holds", type=int, default=10_000)
    parser.add_argument("--seed", type=int, help="default: another one each time")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed  # noqa: S311 -- repeatable, not secret
    figures, problems = asyncio.run(soak(options.holds, seed))
    lines = [f"seed {seed}", *(f"{number:>9,}  {what}" for what, number in figures.items())]
    sys.stdout.write("\n".join([*lines, *(f"PROBLEM: {one}" for one in problems)]) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
