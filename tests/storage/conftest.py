"""A state file in a folder of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emceepee.storage.database import Database


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "state.sqlite3"


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    opened = Database(file)
    yield opened
    opened.close()
