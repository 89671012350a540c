"""What the tests of `state/` share: a log that makes its own ids and times, and a place to note what tables record."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.runtime.ids import Ulids
from emceepee.state.recording import Moment
from tests.support.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Recorded:
    """Stands where a workspace's `record` would: what came, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []

    def __call__(self, kind: str, server: str, data: dict[str, Any], about: str | None = None) -> None:
        self.events.append((kind, server, data))

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.events]


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture
def ulids(clock: FakeClock) -> Ulids:
    return Ulids(clock, "0n0de001")


def moment(clock: FakeClock) -> Moment:
    return Moment(clock.now(), clock.wall())
