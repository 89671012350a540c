"""Bytes under names: found again, bounded, each shelf for itself."""

from __future__ import annotations

import pytest

from emceepee.storage import shelf as module
from emceepee.storage.database import Database
from emceepee.storage.shelf import Shelf
from tests.support.fake_clock import FakeClock


def test_what_was_put_there_is_found_by_its_name_and_only_on_its_shelf(database: Database) -> None:
    clock = FakeClock()
    shelf, other = Shelf(database, "manifests", clock), Shelf(database, "verdicts", clock)
    assert shelf.put("a", b"1")
    assert shelf.put("a", b"2")
    assert shelf.get("a") == b"2"
    assert (other.get("a"), other.all()) == (None, {})
    other.put("a", b"3")
    shelf.remove("a")
    shelf.remove("a")
    assert (shelf.get("a"), other.get("a")) == (None, b"3")


async def test_a_full_shelf_lets_go_of_what_was_put_there_longest_ago(database: Database) -> None:
    clock = FakeClock()
    shelf = Shelf(database, "manifests", clock, limit=2)
    for name in "cab":
        shelf.put(name, name.encode())
        await clock.advance(1)
    assert list(shelf.all()) == ["a", "b"]


def test_what_is_too_large_is_not_put_there(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 3)
    shelf = Shelf(database, "manifests", FakeClock())
    assert not shelf.put("a", b"1234")
    assert shelf.get("a") is None
