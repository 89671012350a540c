"""Handles in the state file: the contract of handle stores."""

from __future__ import annotations

import pytest

from emceepee.storage.database import Database
from emceepee.storage.handles import SqliteHandles
from tests.support.fake_clock import FakeClock
from tests.support.store_contracts import HandleStoreContract


@pytest.fixture
def handles(database: Database) -> SqliteHandles:
    return SqliteHandles(database, FakeClock())


class TestItIsAHandleStore(HandleStoreContract):
    pass
