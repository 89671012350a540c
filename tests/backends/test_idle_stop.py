"""Programs that nobody uses are ended after their time and not before, and the next use starts them again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from emceepee.backends.connection import Connection
from emceepee.backends.definition import Launch, ServerDefinition, StdioLaunch, http_endpoint
from emceepee.backends.lifecycle import Status
from emceepee.backends.pool import Pool
from emceepee.vocabulary.notices import Interest
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_links import FakeDialer

IDLE = 100.0


class House:
    def __init__(self, launch: Launch, idle_stop: float | None) -> None:
        self.dialer = FakeDialer()
        self.clock = FakeClock()
        definition = ServerDefinition("files", launch, idle_stop=idle_stop)
        find: Callable[[str], ServerDefinition | None] = {"files": definition}.get
        self.pool = Pool(find, self.dialer, self.clock)
        self.lost: list[str] = []
        self.pool.on_scope_lost = lambda server, scope: self.lost.append(scope)

    async def connect(self) -> Connection:
        return await self.pool.connection("files", "s1")

    @property
    def status(self) -> Status:
        return self.pool.status("files", "s1")


Open = Callable[..., House]


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    houses: list[House] = []

    def open_house(launch: Launch | None = None, idle_stop: float | None = IDLE) -> House:
        houses.append(House(launch or StdioLaunch("files"), idle_stop))
        return houses[-1]

    yield open_house
    for house in houses:
        await house.pool.close()


async def test_what_nobody_uses_is_ended_and_that_is_no_loss(opened: Open) -> None:
    house = opened()
    handle = await house.connect()
    await house.clock.advance(IDLE - 1)
    assert handle.link is not None
    await house.clock.advance(IDLE / 4 + 1)
    await settle()
    assert handle.link is None
    assert house.dialer.links[0].closed
    assert (house.status.state, house.status.last_error, house.lost) == ("not_connected", None, [])
    await house.clock.advance(10 * IDLE)
    assert house.dialer.dials == 1, "it is not made anew by itself"


async def test_the_next_use_starts_it_again_and_its_time_begins_anew(opened: Open) -> None:
    house = opened()
    handle = await house.connect()
    await house.clock.advance(2 * IDLE)
    assert await house.connect() is handle
    assert handle.link is house.dialer.links[1]
    await house.clock.advance(IDLE - 1)
    assert handle.link is not None
    await house.clock.advance(IDLE)
    assert handle.link is None


async def test_each_use_puts_it_off_and_our_own_probes_do_not(opened: Open) -> None:
    house = opened()
    handle = await house.connect()
    link = house.dialer.links[0]
    for _ in range(5):
        await house.clock.advance(IDLE * 0.9)
        link.asked += 1
    assert handle.link is link
    pinged = link.pinged
    await house.clock.advance(IDLE * 1.3)
    assert link.pinged > pinged, "otherwise this shows nothing"
    assert handle.link is None


async def test_a_call_under_way_and_a_subscription_keep_it(opened: Open) -> None:
    house = opened()
    handle = await house.connect()
    house.dialer.links[0].pending = 1
    await house.clock.advance(3 * IDLE)
    assert handle.link is not None
    house.dialer.links[0].pending = 0
    await handle.want(Interest(uris=frozenset(("file:///a",))))
    await house.clock.advance(3 * IDLE)
    assert handle.link is not None
    await handle.want(Interest())
    await house.clock.advance(2 * IDLE)
    assert handle.link is None


@pytest.mark.parametrize(
    ("launch", "idle_stop"), [(StdioLaunch("files"), None), (http_endpoint("http://files.example/mcp"), IDLE)]
)
async def test_it_is_for_programs_that_are_defined_so(opened: Open, launch: Launch, idle_stop: float | None) -> None:
    house = opened(launch, idle_stop)
    handle = await house.connect()
    await house.clock.advance(20 * IDLE)
    assert handle.link is not None
