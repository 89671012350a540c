"""Clients killed in the middle of calls and waits: a tenth of `make killed`, and how its counting counts."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.killed.__main__ import NUMBER
from tests.killed.account import Account, read_response
from tests.killed.run import run

MAKEFILE = Path(__file__).parents[2] / "Makefile"


@pytest.mark.shows("A-DEL-16", "X-BUG-06")
@pytest.mark.skipif(sys.platform != "linux", reason="that a client was killed before it read is told by Linux's resets")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_killed_clients_did_not_read_can_be_had_and_what_they_read_comes_once(
    era: str, tmp_path: Path
) -> None:
    seed = random.randrange(10**6)  # noqa: S311 -- repeatable, not secret
    account = await run(era, NUMBER // 10, seed, tmp_path)
    print("\\n".join(account.lines()))  # noqa: T201
    assert not account.problems(), seed
    assert account.events
    assert len(account.deaths) >= 3, "killed at different moments"


def test_the_full_number_is_what_was_promised_and_has_a_make_target() -> None:
    assert NUMBER == 500
    environment = {name: value for name, value in os.environ.items() if name not in ("ARGS", "MAKEFLAGS", "MAKELEVEL")}
    command = ("make", "-n", "killed")
    recipe = subprocess.run(command, cwd=MAKEFILE.parent, env=environment, capture_output=True, text=True, check=True)
    assert recipe.stdout.split()[-2:] == ["-m", "tests.killed"], "no number given, so the full one"


# -- the counting


def response(*blocks: Any) -> dict[str, Any]:
    texts = [block if isinstance(block, str) else json.dumps(block) for block in blocks]
    return {"result": {"content": [{"type": "text", "text": text} for text in texts]}}


def event(number: int, kind: str = "task_created", **data: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "type": kind, "server": "s", "data": data}


def test_a_response_counts_as_read_when_all_of_it_was() -> None:
    body = json.dumps({"id": 1}).encode()
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    line = b"id: 1\ndata: " + body + b"\n\n"
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(line), line)
    assert read_response(whole) == read_response(chunked) == {"id": 1}
    assert all(read_response(whole[:cut]) is None for cut in range(len(whole)))
    assert all(read_response(chunked[:cut]) is None for cut in range(len(chunked) - 2))


def test_what_was_lost_and_what_came_twice_is_found() -> None:
    account = Account(sent={"a", "b", "c"}, came={"a", "b", "c"}, told={"x", "y"})
    account.read(response("a", {"events_since_last_response": [event(1)]}))
    heard = event(2, "notification", params={"token": "x"})
    account.read(response({"events": [{"server": "s", "events": [heard, event(1)]}]}))
    account.read(response("a", {"events_since_last_response": [], "events_dropped": {"count": 1}}))
    account.tasks["b"] += 2
    assert account.problems() == [
        "calls whose result nobody can get: 1, as ['c']",
        "results that came twice: 2, as ['a', 'b']",
        "events that never came: 1, as ['y']",
        "events that came twice to clients that read them: 1, as ['e1']",
        "gaps in the events: 1",
    ]
    account.cancelled = {"c"}
    assert len(account.problems()) == 4
