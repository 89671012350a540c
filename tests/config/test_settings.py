"""The settings tree: safe defaults, and the parts' own defaults where nothing was said."""

from __future__ import annotations

import pytest

from emceepee.config.gateway_settings import build_settings
from emceepee.config.settings import DEFAULTS
from emceepee.front.settings import FrontSettings
from emceepee.relay.settings import RelaySettings
from emceepee.sessions.settings import SessionSettings


@pytest.mark.shows("X-GAP-10")
def test_we_listen_on_this_machine_alone_unless_told_otherwise() -> None:
    assert DEFAULTS.host == "127.0.0.1"
    assert DEFAULTS.exposure_problem() is None
    assert not DEFAULTS.insecure_no_auth


def test_the_named_waits_have_their_promised_defaults() -> None:
    waits = DEFAULTS.timeouts
    assert (waits.execute, waits.connect, waits.relay_call) == (120, 10, 600)
    assert (waits.listing, waits.session_idle, waits.session_sweep) == (2, 1800, 300)


@pytest.mark.shows("X-CON-01")
def test_raising_one_wait_raises_no_other() -> None:
    changed = build_settings({"timeouts.execute": 500.0})
    assert changed.timeouts.execute == 500
    assert changed.for_relay().execute_timeout_ms == 500_000
    assert changed.for_relay().call_timeout == DEFAULTS.for_relay().call_timeout
    assert changed.for_sessions() == DEFAULTS.for_sessions()


def test_a_part_gets_its_own_defaults_where_nothing_was_said() -> None:
    assert DEFAULTS.for_relay() == RelaySettings()
    assert DEFAULTS.for_sessions() == SessionSettings()
    front = DEFAULTS.for_front()
    assert front.allowed_hosts == {"127.0.0.1"}
    assert front == FrontSettings(allowed_hosts=front.allowed_hosts)


@pytest.mark.shows("X-GAP-11")
def test_each_limit_reaches_the_part_that_holds_it() -> None:
    names = ("max_body", "max_depth", "max_sessions", "max_listens", "max_calls", "max_calls_per_session")
    changed = build_settings({f"limits.{name}": 7 for name in (*names, "max_connections")})
    front, sessions = changed.for_front(), changed.for_sessions()
    assert (front.max_body, front.max_depth, front.max_listens, front.max_calls, front.max_connections) == (7,) * 5
    assert (sessions.max_sessions, sessions.max_in_flight) == (7, 7)


@pytest.mark.shows("X-GAP-10")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "", "192.168.1.5", "myhost", "localhost.example.com"])
def test_listening_beyond_this_machine_is_refused_with_what_to_do(host) -> None:
    problem = build_settings({"host": host}).exposure_problem()
    assert problem is not None
    assert "--insecure-no-auth" in problem
    assert build_settings({"host": host, "insecure_no_auth": True}).exposure_problem() is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "[::1]", "localhost"])
def test_listening_on_this_machine_needs_no_permission(host) -> None:
    assert build_settings({"host": host}).exposure_problem() is None


def test_the_address_we_listen_on_is_a_host_of_ours_and_names_are_compared_in_small_letters() -> None:
    given = {"host": "MyHost", "allowed_hosts": ("Proxy.Test",), "allowed_origins": ("https://Page.Test",)}
    front = build_settings(given).for_front()
    assert front.allowed_hosts == {"myhost", "proxy.test"}
    assert front.allowed_origins == {"https://page.test"}
    assert build_settings({"host": "::1"}).for_front().allowed_hosts == {"[::1]"}
    assert build_settings({"host": "0.0.0.0"}).for_front().allowed_hosts == frozenset()
