"""The twin that keeps handles in memory keeps them as the file does."""

from __future__ import annotations

import pytest

from emceepee.sessions.kept_handles import InMemoryHandles
from tests.support.store_contracts import HandleStoreContract


@pytest.fixture
def handles() -> InMemoryHandles:
    return InMemoryHandles()


class TestItIsAHandleStore(HandleStoreContract):
    pass
