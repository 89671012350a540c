"""What the composition root is handed."""

from __future__ import annotations

from pathlib import Path

import pytest

from emceepee.backends.kept_servers import InMemoryServers
from emceepee.sessions.kept_handles import InMemoryHandles
from emceepee.state.kept_tasks import InMemoryTasks
from emceepee.storage.database import Unusable
from emceepee.storage.kept import Kept, open_kept
from tests.support.fake_clock import FakeClock


def test_it_says_how_it_stands_and_lets_go_of_the_file_in_the_end(file: Path) -> None:
    kept = open_kept(file, FakeClock())
    assert kept.standing == "kept"
    assert kept.database is not None
    kept.database.write("INSERT INTO nowhere VALUES (1)")
    assert kept.standing == "failing"
    with pytest.raises(Unusable):
        open_kept(file, FakeClock())
    kept.close()
    open_kept(file, FakeClock()).close()


def test_without_a_file_there_is_nothing_to_fail() -> None:
    kept = Kept(InMemoryServers(), InMemoryTasks(), InMemoryHandles())
    assert kept.standing == "kept"
    kept.close()
