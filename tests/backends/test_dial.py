"""From a definition to a live link: which era, which process, which second thought (era-bridging 1.4, table B).

Servers live in memory here; what is special about HTTP and about child processes is shown over real sockets and pipes
in `tests/conversations` and `tests/processes`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.app import IMPLEMENTATION, Backends
from emceepee.backends.connection import Connection
from emceepee.backends.definition import InProcess, ServerDefinition
from emceepee.errors import BackendFault, BackendUnavailable, BackendViolation
from emceepee.runtime.ids import SystemIds
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import read_value, to_raw
from tests.support.fake_clock import FakeClock, settle
from tests.support.scripted_backend import EXIT, SILENT, Fail, ScriptedBackend, ScriptedConnection, Turn


class House:
    def __init__(self, backend: ScriptedBackend) -> None:
        self.clock = FakeClock()
        self.backend = backend
        self.backends = Backends(
            [ServerDefinition("files", InProcess("files"))],
            {},
            self.clock,
            SystemIds(),
            {"files": backend.connection},
        )

    async def connect(self, seconds: float = 0) -> Connection:
        attempt = asyncio.get_running_loop().create_task(self.backends.pool.connection("files", "s1"))
        await settle(30)
        if seconds:
            await self.clock.advance(seconds)
            await settle(30)
        async with asyncio.timeout(5):
            return await attempt

    async def echo(self, connection: Connection) -> Any:
        call = Call("tools/call", {"name": to_raw("echo"), "arguments": to_raw({"text": "hi"})}, Caller())
        async with asyncio.timeout(5):
            outcome = await connection.request(call, None, 60)
        assert isinstance(outcome, Done)
        return read_value(outcome.payload.raw())


async def test_a_modern_server_is_asked_once_and_used_as_it_is() -> None:
    house = House(ScriptedBackend("modern"))
    connection = await house.connect()
    assert house.backend.methods() == ["server/discover"]
    assert (connection.about.revision, len(house.backend.connections)) == ("2026-07-28", 1)
    assert (await house.echo(connection))["content"][0]["text"] == '{"text": "hi"}'
    await house.backends.close()


async def test_a_legacy_server_that_answers_the_probe_is_initialized_in_the_same_process() -> None:
    house = House(ScriptedBackend("legacy"))
    connection = await house.connect()
    assert house.backend.methods() == ["server/discover", "initialize", "notifications/initialized"]
    hello = house.backend.params("initialize")[0]
    assert hello["protocolVersion"] == "2025-11-25"
    assert hello["capabilities"] == {}
    assert hello["clientInfo"] == read_value(IMPLEMENTATION)
    assert connection.about.revision == "2025-11-25"
    await house.backends.close()


async def test_the_verdict_is_kept_so_that_the_next_connection_is_not_probed() -> None:
    house = House(ScriptedBackend("legacy"))
    await house.connect()
    await house.backends.pool.release("s1")
    house.backend.received.clear()
    await house.connect()
    assert house.backend.methods() == ["initialize", "notifications/initialized"]
    await house.backends.close()


@pytest.mark.shows("EB-B4")
async def test_a_server_that_exits_on_the_probe_is_started_again_and_begins_with_initialize() -> None:
    house = House(ScriptedBackend("legacy", {"server/discover": EXIT}))
    connection = await house.connect()
    assert len(house.backend.connections) == 2
    assert house.backend.methods() == ["server/discover", "initialize", "notifications/initialized"]
    await house.echo(connection)
    await house.backends.close()


@pytest.mark.shows("EB-B5")
async def test_a_server_that_is_silent_on_the_probe_gets_a_fresh_start_after_five_seconds() -> None:
    house = House(ScriptedBackend("legacy", {"server/discover": SILENT}))
    connection = await house.connect(seconds=5)
    assert len(house.backend.connections) == 2
    assert [m for m in house.backend.methods() if m != "notifications/cancelled"] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
    ]
    await house.echo(connection)
    await house.backends.close()


@pytest.mark.shows("EB-B6")
async def test_a_modern_server_too_slow_for_the_probe_is_recognised_by_how_it_refuses_initialize() -> None:
    probes = 0

    def discover(turn: Turn) -> Any:
        nonlocal probes
        probes += 1
        return SILENT if probes == 1 else {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}

    house = House(ScriptedBackend("modern", {"server/discover": discover}))
    connection = await house.connect(seconds=5)
    assert [m for m in house.backend.methods() if m != "notifications/cancelled"] == [
        "server/discover",
        "initialize",
        "server/discover",
    ]
    assert connection.about.revision == "2026-07-28"
    await house.echo(connection)
    await house.backends.close()


@pytest.mark.shows("EB-B7")
async def test_a_server_that_names_a_mutual_revision_in_its_refusal_is_asked_once_more_at_that() -> None:
    answers = [
        Fail(-32022, "no", {"supported": ["2027-01-01", "2026-07-28"]}),
        {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    ]
    house = House(ScriptedBackend("modern", {"server/discover": lambda turn: answers.pop(0)}))
    connection = await house.connect()
    assert house.backend.methods() == ["server/discover", "server/discover"]
    await house.echo(connection)
    await house.backends.close()


async def test_a_server_of_only_later_revisions_is_named_incompatible_and_never_initialized() -> None:
    house = House(ScriptedBackend("modern", {"server/discover": Fail(-32022, "no", {"supported": ["2027-01-01"]})}))
    with pytest.raises(BackendViolation, match=r"no common protocol revision: it speaks only 2027-01-01"):
        await house.connect()
    assert "initialize" not in house.backend.methods()
    await house.backends.close()


@pytest.mark.shows("X-BUG-29")
@pytest.mark.parametrize(
    ("welcome", "says"),
    [
        ({"capabilities": {}}, "names no protocol version"),
        ({"protocolVersion": "1999-01-01", "capabilities": {}}, "wants protocol version '1999-01-01'"),
        (Fail(-32603, "out of order"), "refused initialize: out of order"),
    ],
)
async def test_a_handshake_that_fails_says_why_and_leaves_nothing_open(
    welcome: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: set[ScriptedConnection] = set()

    def note(connection: ScriptedConnection) -> None:
        closed.add(connection)

    monkeypatch.setattr(ScriptedConnection, "closed", note)
    house = House(ScriptedBackend("legacy", {"initialize": welcome}))
    with pytest.raises(BackendFault, match=says):
        await house.connect()
    status = house.backends.pool.status("files", "s1")
    assert status.state == "error"
    assert says in (status.last_error or "")
    assert len(house.backends.pool) == 0
    assert closed == {connection for connection in house.backend.connections if connection.channel is not None}
    assert closed
    await house.backends.close()


async def test_a_server_that_exits_whatever_is_said_to_it_is_unavailable() -> None:
    house = House(ScriptedBackend("legacy", {"server/discover": EXIT, "initialize": EXIT}))
    with pytest.raises(BackendFault):
        await house.connect()
    await house.backends.close()


async def test_an_unknown_in_process_server_is_said_by_name() -> None:
    backends = Backends([ServerDefinition("x", InProcess("nobody"))], {}, FakeClock(), SystemIds())
    with pytest.raises(BackendUnavailable, match="no server named 'nobody' lives in this process"):
        await backends.pool.connection("x", "s1")
    await backends.close()
