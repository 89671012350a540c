"""What every test may rely on, and no more.

It registers the one marker of the house, `shows`, by which a test names the acceptance and era-bridging ids it shows;
`tools/acceptance.py` reads the markers from there. It is not the place for fixtures of one room: these live beside
that room's tests, and fakes in `tests/support`.

The one rule: nothing here touches the network, the clock or the user's home.
"""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "shows(*ids): the acceptance, era-bridging or target ids this test shows")
