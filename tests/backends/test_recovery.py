"""What came back: the same, or another."""

from __future__ import annotations

import pytest

from emceepee.backends.recovery import Identity, RecoverySettings, kind_of

ONE = Identity("session-1", "files", "1.0", "2025-11-25")


@pytest.mark.shows("A-REC-11", "A-REC-12", "A-REC-13", "X-CON-16")
@pytest.mark.parametrize(
    ("current", "kind"),
    [
        (Identity("session-2", "files", "1.0", "2025-11-25"), "restart"),
        (Identity("session-1", "files", "2.0", "2025-11-25"), "restart"),
        (Identity(None, "files", "2.0", "2025-11-25"), "restart"),
        (Identity(None, "files", "1.0", "2025-11-25"), "network_blip"),
        (ONE, "network_blip"),
    ],
)
def test_another_session_or_version_is_a_restart_and_all_else_a_blip(current: Identity, kind: str) -> None:
    assert kind_of(ONE, current) == kind


@pytest.mark.shows("A-REC-09", "X-CON-16")
def test_who_it_was_is_shown_without_its_session_id() -> None:
    assert ONE.shown() == {"name": "files", "version": "1.0", "protocolVersion": "2025-11-25"}
    assert Identity().shown() == {}


def test_by_default_a_connection_is_made_anew_without_end() -> None:
    settings = RecoverySettings()
    assert (settings.automatic, settings.max_attempts) == (True, None)
    assert (settings.first_delay, settings.longest_delay) == (1.0, 180.0)
