"""Where the state file lies when nobody says where: in the user's state folder, by the habits of the platform. Pure.

The one rule: a user has one such file, so two gateways that are not told otherwise meet at its lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FILE_NAME = "state.sqlite3"


def default_file(environment: Mapping[str, str]) -> Path | None:
    """None where the environment names no home."""
    if base := environment.get("XDG_STATE_HOME") or environment.get("LOCALAPPDATA"):
        return Path(base) / "emceepee" / FILE_NAME
    home = environment.get("HOME")
    return Path(home) / ".local" / "state" / "emceepee" / FILE_NAME if home else None
