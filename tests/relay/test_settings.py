"""The waits that were promised."""

from __future__ import annotations

import pytest

from emceepee.relay.settings import RelaySettings


@pytest.mark.shows("A-EXE-01")
def test_an_execution_waits_two_minutes_and_a_listing_two_seconds() -> None:
    settings = RelaySettings()
    assert (settings.execute_timeout_ms, settings.call_timeout, settings.listing_budget) == (120_000, 600.0, 2.0)
