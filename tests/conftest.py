"""What every test may rely on, and no more.

It registers the one marker of the house, `shows`, by which a test names the acceptance and era-bridging ids it shows;
`tools/acceptance.py` reads the markers from there. It is not the place for fixtures of one room: these live beside
that room's tests, and fakes in `tests/support`.

The one rule: nothing here touches the network, the clock or the user's home.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "shows(*ids): the acceptance, era-bridging or target ids this test shows")
    # Programs that a test starts keep their state in the user's folder unless they are told otherwise.
    state = tempfile.mkdtemp(prefix="emceepee-tests-")
    os.environ["XDG_STATE_HOME"] = state
    config.add_cleanup(lambda: shutil.rmtree(state, ignore_errors=True))


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command of the command line sets up logging for its whole process; here the next test is in the same one."""
    loggers = [logging.getLogger(), logging.getLogger("emceepee")]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        for handler in [one for one in logger.handlers if one not in handlers]:
            logger.removeHandler(handler)
