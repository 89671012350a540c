"""The list of servers: what it stores, refuses, tells and logs."""

from __future__ import annotations

import logging

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition, StdioLaunch
from emceepee.backends.kept_servers import InMemoryServers
from emceepee.backends.registry import Change, Registry
from emceepee.errors import ClientFault, LimitReached
from emceepee.vocabulary.names import LOCAL
from tests.support.fake_clock import FakeClock

SESSION = "01J9ZQ4M7N8P9RSTVWXYZ01234"


def http(name: str = "files", url: str = "http://files.test/mcp") -> ServerDefinition:
    return ServerDefinition(name, HttpEndpoint(url))


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, object]]]:
    return [(record.message, record.data) for record in caplog.records]


@pytest.fixture
def registry(caplog: pytest.LogCaptureFixture) -> Registry:
    caplog.set_level(logging.INFO, "emceepee.backends")
    return Registry(FakeClock(), own=["127.0.0.1:8080"])


@pytest.mark.shows("A-CFG-01")
def test_a_new_name_is_stored_reported_as_new_and_logged(registry, caplog) -> None:
    assert registry.add(http(), by=LOCAL) == "new"
    assert registry.get("files") == http()
    data = {"server": "files", "url": "http://files.test/mcp", "addedBy": "local"}
    assert logged(caplog) == [("server_config_added", data)]


@pytest.mark.shows("A-CFG-02")
def test_an_existing_name_is_overwritten_reported_as_updated_and_logged(registry, caplog) -> None:
    registry.add(http())
    assert registry.add(http(url="http://other.test/mcp"), by=LOCAL) == "updated"
    assert registry.list() == (http(url="http://other.test/mcp"),)
    data = {"server": "files", "url": "http://other.test/mcp", "addedBy": "local"}
    assert logged(caplog)[-1] == ("server_config_updated", data)


@pytest.mark.shows("X-BUG-46")
def test_an_equal_definition_changes_nothing_and_tells_nobody(registry, caplog) -> None:
    told: list[Change] = []
    registry.add(http(), by=LOCAL)
    before = registry.entry("files")
    registry.watch(told.append)
    assert registry.add(http(), by=SESSION) == "same"
    assert registry.entry("files") is before
    assert not told
    assert len(caplog.records) == 1


def test_watchers_of_an_update_are_given_the_definition_that_connections_still_use(registry) -> None:
    told: list[Change] = []
    registry.add(http())
    registry.watch(told.append)
    registry.add(http(url="http://other.test/mcp"))
    assert [(change.kind, change.name, change.previous) for change in told] == [("updated", "files", http())]


@pytest.mark.shows("A-CFG-03")
def test_an_entry_has_name_url_time_and_who_added_it_only_when_somebody_did(registry) -> None:
    registry.add(http(), by=LOCAL)
    registry.add(http("from-a-file"))
    shown = [entry.describe() for entry in registry.entries()]
    assert shown[0]["name"] == "files"
    assert shown[0]["url"] == "http://files.test/mcp"
    assert shown[0]["addedAt"] == "2026-11-01T00:00:00.000Z"
    assert shown[0]["addedBy"] == "local"
    assert "addedBy" not in shown[1]


@pytest.mark.shows("A-CFG-04")
def test_an_unknown_name_gives_nothing_and_all_entries_are_listed_in_order(registry) -> None:
    registry.add(http("b"))
    registry.add(http("a"))
    assert registry.get("c") is None
    assert registry.entry("c") is None
    assert (registry.has("a"), registry.has("c")) == (True, False)
    assert [definition.name for definition in registry.list()] == ["b", "a"]


@pytest.mark.shows("A-CFG-05")
def test_removing_a_known_name_reports_true_and_is_logged(registry, caplog) -> None:
    registry.add(http())
    assert registry.remove("files") is True
    assert not registry.has("files")
    assert logged(caplog)[-1] == ("server_config_removed", {"server": "files"})


@pytest.mark.shows("A-CFG-05")
def test_removing_an_unknown_name_reports_false_logs_nothing_and_tells_nobody(registry, caplog) -> None:
    told: list[Change] = []
    registry.watch(told.append)
    assert registry.remove("files") is False
    assert not caplog.records
    assert not told


@pytest.mark.shows("X-BUG-47")
def test_a_session_id_is_neither_stored_nor_told_nor_logged(registry, caplog) -> None:
    told: list[Change] = []
    registry.watch(told.append)
    registry.add(http(), by=SESSION)
    registry.remove("files", by=SESSION)
    assert SESSION not in repr(told) + repr(logged(caplog))
    assert told[0].entry.added_by == told[1].by
    assert len(told[1].by) == 8


def test_watchers_are_told_after_the_list_has_changed_so_that_looking_again_finds_the_truth(registry) -> None:
    seen: list[tuple[str, bool]] = []
    registry.watch(lambda change: seen.append((change.kind, registry.has(change.name))))
    registry.add(http())
    registry.remove("files")
    assert seen == [("added", True), ("removed", False)]


def test_who_stopped_watching_is_told_no_more(registry) -> None:
    told: list[Change] = []
    unwatch = registry.watch(told.append)
    unwatch()
    unwatch()
    registry.add(http())
    assert not told


def test_a_disabled_server_is_listed_but_is_not_among_those_to_connect(registry) -> None:
    registry.add(ServerDefinition("off", HttpEndpoint("http://off.test/mcp"), disabled=True))
    registry.add(http())
    assert [definition.name for definition in registry.list()] == ["off", "files"]
    assert [definition.name for definition in registry.enabled()] == ["files"]


@pytest.mark.parametrize("name", ["", "a__b", "x" * 41, "a/b", "-a", "a b"])
def test_a_name_that_cannot_be_used_is_refused_with_the_reason(registry, name) -> None:
    with pytest.raises(ClientFault, match="the name") as caught:
        registry.add(http(name))
    assert caught.value.code == -32602
    assert caught.value.data["field"] == "name"
    assert len(registry) == 0


@pytest.mark.shows("X-GAP-10")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/mcp",
        "http://localhost:8080/servers/x/mcp",
        "http://LOCALHOST.:8080/mcp",
        "http://app.localhost:8080/mcp",
        "http://[::1]:8080/mcp",
        "http://[::ffff:127.0.0.1]:8080/mcp",
        "http://0.0.0.0:8080/mcp",
        "http://127.1:8080/mcp",
        "http://2130706433:8080/mcp",
        "http://user:pass@127.0.0.1:8080/mcp?x=1",
    ],
)
def test_the_gateway_cannot_be_added_to_itself_by_any_name_of_this_machine(registry, url) -> None:
    with pytest.raises(ClientFault, match="this gateway itself"):
        registry.add(http(url=url))


@pytest.mark.parametrize("url", ["http://127.0.0.1:8081/mcp", "http://localhost/mcp", "http://10.0.0.1:8080/mcp"])
def test_another_port_or_another_machine_is_not_the_gateway(registry, url) -> None:
    assert registry.add(http(url=url)) == "new"


@pytest.mark.shows("X-GAP-10")
@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "javascript:alert(1)", "ws://x/", "//x/mcp", "x"])
def test_only_http_and_https_are_reached(registry, url) -> None:
    with pytest.raises(ClientFault, match="only http and https"):
        registry.add(http(url=url))


@pytest.mark.shows("X-GAP-11")
def test_one_server_more_than_the_limit_is_refused_but_a_known_one_can_still_change() -> None:
    registry = Registry(FakeClock(), limit=2)
    registry.add(http("a"))
    registry.add(http("b"))
    with pytest.raises(LimitReached, match="limit is 2"):
        registry.add(http("c"))
    assert registry.add(ServerDefinition("b", StdioLaunch("npx"))) == "updated"
    assert len(registry) == 2


# -- beyond one run


def again(kept: InMemoryServers, *configured: ServerDefinition, limit: int = 200) -> Registry:
    """The registry of the next run."""
    registry = Registry(FakeClock(), limit=limit, own=["127.0.0.1:8080"])
    for definition in configured:
        registry.add(definition)
    registry.restore(kept)
    return registry


def test_what_was_added_while_it_ran_is_there_in_the_next_run_as_it_was(registry: Registry) -> None:
    kept = InMemoryServers()
    registry.add(http("configured"))
    registry.restore(kept)
    registry.add(http("a"), by=SESSION)
    registry.add(http("gone"), by=SESSION)
    registry.add(http("a", "http://other.test/mcp"), by=SESSION)
    registry.remove("gone", by=SESSION)
    later = again(kept)
    assert later.entries() == (registry.entry("a"),)
    assert SESSION not in str(kept.all())
    later.remove("a")
    assert again(kept).entries() == ()


def test_the_configuration_decides_about_its_names_now_and_after_they_leave_it(caplog) -> None:
    kept = InMemoryServers()
    first = again(kept)
    first.add(http("a"), by=SESSION)
    caplog.clear()
    assert again(kept, http("a", "http://file.test/mcp")).get("a") == http("a", "http://file.test/mcp")
    assert [line for line in logged(caplog) if line[0] == "server_not_restored"] == [
        ("server_not_restored", {"server": "a", "reason": "the configuration names another server like that"})
    ]
    assert again(kept).entries() == ()


def test_going_back_to_what_the_configuration_says_leaves_nothing_behind() -> None:
    kept = InMemoryServers()
    registry = again(kept, http("a"))
    registry.add(http("a", "http://other.test/mcp"), by=SESSION)
    registry.add(http("a"), by=SESSION)
    assert kept.all() == []


def test_what_has_no_place_any_more_is_left_out_and_not_forgotten() -> None:
    kept = InMemoryServers()
    for definition in (http("a"), http("b"), http("self", "http://127.0.0.1:8080/mcp")):
        kept.put(definition, "then", None)
    assert [entry.definition.name for entry in again(kept, limit=1).entries()] == ["a"]
    assert [entry.definition.name for entry in again(kept).entries()] == ["a", "b"]
