"""Everything that is kept beyond one run, as the composition root hands it out.

The one rule: a gateway without a state file is given nothing from here and works the same until it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emceepee.backends.kept_servers import ServerStore
from emceepee.runtime.clock import Clock
from emceepee.sessions.kept_handles import HandleStore
from emceepee.state.kept_tasks import TaskStore
from emceepee.storage.database import Database
from emceepee.storage.handles import SqliteHandles
from emceepee.storage.servers import SqliteServers
from emceepee.storage.tasks import SqliteTasks


@dataclass(slots=True, frozen=True)
class Kept:
    servers: ServerStore
    tasks: TaskStore
    handles: HandleStore
    database: Database | None = None
    """For what a part keeps in a table or on a shelf of its own; None in tests that keep things in memory."""

    close: Callable[[], None] = lambda: None

    @property
    def standing(self) -> str:
        """One word for whoever asks how we are."""
        return "failing" if self.database is not None and self.database.failing else "kept"


def open_kept(path: Path, clock: Clock) -> Kept:
    """Raises `Unusable`."""
    database = Database(path)
    servers, tasks, handles = SqliteServers(database), SqliteTasks(database), SqliteHandles(database, clock)
    return Kept(servers, tasks, handles, database, database.close)
