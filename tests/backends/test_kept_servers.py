"""The twin that keeps servers in memory keeps them as the file does."""

from __future__ import annotations

import pytest

from emceepee.backends.kept_servers import InMemoryServers
from tests.support.store_contracts import ServerStoreContract


@pytest.fixture
def servers() -> InMemoryServers:
    return InMemoryServers()


class TestItIsAServerStore(ServerStoreContract):
    pass
