"""The state file: opened safely, refused with a reason, written whole or not at all."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from emceepee.storage import database as module
from emceepee.storage.database import Database, Unusable
from emceepee.storage.schema import STEPS, VERSION

PUT = "INSERT OR REPLACE INTO shelf VALUES ('s', ?, 0, ?)"
ALL = "SELECT name, body FROM shelf ORDER BY name"

DIE = """
import os, sys
from pathlib import Path
from emceepee.storage.database import Database
database = Database(Path(sys.argv[1]))
for number in range(50):
    assert database.write("INSERT INTO shelf VALUES ('s', ?, 0, x'00')", (str(number),))
os.kill(os.getpid(), 9)
"""


def killed(file: Path) -> None:
    """A process that wrote fifty rows into it and was killed then."""
    subprocess.run([sys.executable, "-c", DIE, str(file)], check=False)


def test_what_was_written_is_there_when_it_is_opened_again(file: Path) -> None:
    first = Database(file)
    assert first.write(PUT, ("a", b"1"))
    first.close()
    first.close()
    again = Database(file)
    assert again.rows(ALL) == [("a", b"1")]
    again.close()


def test_what_was_accepted_survives_the_death_of_the_process(file: Path) -> None:
    killed(file)
    again = Database(file)
    assert len(again.rows(ALL)) == 50
    again.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no such modes")
def test_nobody_but_its_user_may_read_it(file: Path, database: Database) -> None:
    database.write(PUT, ("a", b"1"))
    modes = {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir()}
    assert set(modes) == {file.name + ending for ending in ("", "-wal", "-shm", ".lock")}
    assert set(modes.values()) == {0o600}
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_others_could_read_is_closed_to_them(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.touch(0o644)
    file.chmod(0o644)
    Database(file).close()
    assert file.stat().st_mode & 0o777 == 0o600


def test_all_statements_are_written_or_none(database: Database) -> None:
    assert not database.write_all([(PUT, ("a", b"1")), ("INSERT INTO nowhere VALUES (1)", ())])
    assert database.rows(ALL) == []
    assert database.write_all([(PUT, ("a", b"1")), (PUT, ("b", b"2"))])
    assert len(database.rows(ALL)) == 2


def test_a_second_gateway_on_the_same_file_is_refused_with_the_first_ones_process(file: Path, database) -> None:
    with pytest.raises(Unusable, match=rf"another gateway \(process {os.getpid()}\) uses it; .*--state FILE"):
        Database(file)


def test_somebody_who_reads_the_file_meanwhile_is_no_trouble(file: Path, database: Database) -> None:
    database.write(PUT, ("a", b"1"))
    reader = sqlite3.connect(file)
    assert len(reader.execute(ALL).fetchall()) == 1
    assert database.write(PUT, ("b", b"1"))
    reader.close()


# -- what is refused, and left as it is


def refused(file: Path) -> str:
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(Unusable) as caught:
        Database(file)
    assert (file.read_bytes() if file.is_file() else None) == before
    return str(caught.value)


def test_a_file_that_is_no_database_is_left_alone(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("my notes, of which there is no copy\n" * 100)
    assert "not a database" in refused(file)


def test_the_database_of_another_program_is_left_alone(file: Path) -> None:
    file.parent.mkdir(parents=True)
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    assert "another program" in refused(file)


def test_a_file_of_a_newer_gateway_is_left_alone(file: Path) -> None:
    Database(file).close()
    newer = sqlite3.connect(file)
    newer.execute(f"PRAGMA user_version = {VERSION + 1}")
    newer.close()
    assert "a newer emceepee wrote it" in refused(file)


def test_a_damaged_file_is_found_out_after_an_unclean_end(file: Path) -> None:
    killed(file)
    Database(file).close()
    with sqlite3.connect(file) as unclean:
        unclean.execute("UPDATE life SET ended = 0")
    unclean.close()
    data = bytearray(file.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    file.write_bytes(data)
    assert "move it away" in refused(file)


@pytest.mark.parametrize("wrong", ["folder", "no folder"])
def test_a_place_where_there_can_be_no_file_is_told_with_its_reason(tmp_path: Path, wrong: str) -> None:
    if wrong == "folder":
        file = tmp_path / "state"
        file.mkdir()
    else:
        (tmp_path / "file").touch()
        file = tmp_path / "file" / "below" / "state"
    with pytest.raises(Unusable, match="--state FILE"):
        Database(file)


def test_a_file_that_may_only_be_read_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(file).close()
    connect = sqlite3.connect

    def read_only(path: Path, **how: object) -> sqlite3.Connection:
        return connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)

    monkeypatch.setattr(module.sqlite3, "connect", read_only)
    assert "readonly" in refused(file)


def test_whoever_is_refused_holds_no_lock(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("x" * 5000)
    refused(file)
    file.unlink()
    Database(file).close()


# -- what goes wrong later


def full(database: Database) -> None:
    """As if the disk were: no page more."""
    ((pages,),) = database.rows("PRAGMA page_count")
    database.rows(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_is_told_once_and_what_is_there_stays_whole(
    database: Database, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "emceepee.storage")
    assert database.write(PUT, ("a", b"1"))
    full(database)
    for number in range(3):
        assert not database.write(PUT, (f"big {number}", bytes(1_000_000)))
        assert not database.write_all([(PUT, ("small", b"x")), (PUT, ("big", bytes(1_000_000)))])
    assert database.rows(ALL) == [("a", b"1")]
    assert database.failing == "database or disk is full"
    database.rows("PRAGMA max_page_count = 100000")
    assert database.write(PUT, ("b", b"2"))
    assert database.failing is None
    assert [record.message for record in caplog.records] == ["state_write_failed", "state_written_again"]
    assert caplog.records[0].data == {"file": str(file), "error": "database or disk is full"}  # type: ignore[attr-defined]


def test_after_it_was_closed_nothing_is_written_and_nothing_breaks(file: Path) -> None:
    database = Database(file)
    database.close()
    assert not database.write(PUT, ("a", b"1"))
    assert not database.write_all([(PUT, ("a", b"1"))])
    assert database.rows(ALL) == []


def test_what_cannot_be_read_is_as_if_it_were_not_there(database: Database) -> None:
    assert database.rows("SELECT * FROM nowhere") == []
    assert database.failing is not None


# -- forward


def test_a_file_of_an_older_gateway_is_led_forward_and_loses_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Database(file)
    older.write(PUT, ("a", b"1"))
    older.close()
    monkeypatch.setattr(module, "STEPS", (*STEPS, ("ALTER TABLE shelf ADD COLUMN more TEXT DEFAULT 'new'",)))
    monkeypatch.setattr(module, "VERSION", VERSION + 1)
    for _ in range(2):
        newer = Database(file)
        assert newer.rows("SELECT name, more FROM shelf") == [("a", "new")]
        newer.close()


def test_a_step_that_fails_leaves_the_file_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = Database(file)
    older.write(PUT, ("a", b"1"))
    older.close()
    with monkeypatch.context() as broken:
        broken.setattr(module, "STEPS", (*STEPS, ("DROP TABLE shelf", "NOT SQL")))
        broken.setattr(module, "VERSION", VERSION + 1)
        with pytest.raises(Unusable):
            Database(file)
    again = Database(file)
    assert again.rows(ALL) == [("a", b"1")]
    again.close()
