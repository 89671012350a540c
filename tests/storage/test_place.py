"""Where the state file lies when nobody says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from emceepee.storage.place import default_file


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, Path("/s/emceepee/state.sqlite3")),
        ({"LOCALAPPDATA": "/l"}, Path("/l/emceepee/state.sqlite3")),
        ({"HOME": "/h"}, Path("/h/.local/state/emceepee/state.sqlite3")),
        ({"XDG_STATE_HOME": "", "HOME": "/h"}, Path("/h/.local/state/emceepee/state.sqlite3")),
        ({}, None),
    ],
)
def test_the_state_folder_of_the_user_is_used(environment: dict[str, str], expected: Path | None) -> None:
    assert default_file(environment) == expected
