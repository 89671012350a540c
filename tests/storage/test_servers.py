"""Servers in the state file: the contract of server stores, and what cannot be read back."""

from __future__ import annotations

import pytest

from emceepee.backends.definition import ServerDefinition, StdioLaunch
from emceepee.storage.database import Database
from emceepee.storage.servers import SqliteServers
from tests.support.store_contracts import ServerStoreContract


@pytest.fixture
def servers(database: Database) -> SqliteServers:
    return SqliteServers(database)


class TestItIsAServerStore(ServerStoreContract):
    pass


@pytest.mark.parametrize(
    "body", ["{", '{"kind": "carrier-pigeon", "launch": {}, "affinity": "shared", "added_at": ""}']
)
def test_one_that_cannot_be_read_costs_itself_only_and_is_told(servers, database, caplog, body: str) -> None:
    for name in "ab":
        servers.put(ServerDefinition(name, StdioLaunch("x", env={"TOKEN": "secret"})), "then", None)
    database.write("UPDATE server SET body = ? WHERE name = 'a'", (body,))
    assert [one.name for one, _, _ in servers.all()] == ["b"]
    assert [(record.message, record.data["server"]) for record in caplog.records] == [("state_server_unreadable", "a")]
    assert "secret" not in caplog.text
