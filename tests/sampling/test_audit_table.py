"""Records as a table: found again, bounded, and never in anybody's way."""

from __future__ import annotations

import logging
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from emceepee.sampling.audit_table import AuditTable


def entry(number: int) -> dict[str, object]:
    at = "2026-11-01T00:00:00.000Z"
    return {"id": f"r{number}", "timestamp": at, "workspace": "w", "server": "s", "outcome": "answered", "model": "m"}


def ids(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as base:
        return [
            row[0] for row in base.execute("SELECT json_extract(entry, '$.id') FROM sampling_audit ORDER BY number")
        ]


@pytest.mark.shows("B-FLOW-09")
def test_each_record_is_a_row_that_only_the_owner_can_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "audit.db"
    for number in range(2):
        table = AuditTable(path, 100)
        table.record(entry(number))
        table.close()
    assert ids(path) == ["r0", "r1"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    table = AuditTable(path, 20)
    for number in range(50):
        table.record(entry(number))
        assert len(ids(path)) <= 20
    table.close()
    assert ids(path)[-1] == "r49"
    assert len(ids(path)) >= 18


def test_a_record_that_cannot_be_written_is_said_once_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "audit.db"
    path.write_bytes(b"this is no table" * 100)
    table = AuditTable(path, 100)
    with caplog.at_level(logging.ERROR, "emceepee.sampling"):
        table.record(entry(1))
        table.record(entry(2))
        assert [record.message for record in caplog.records] == ["sampling_audit_not_written"]
        path.unlink()
        table.record(entry(3))
    table.close()
    assert ids(path) == ["r3"]


def test_a_reader_who_holds_the_file_costs_a_record_and_not_the_gateway(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    table = AuditTable(path, 100)
    table.record(entry(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        table.record(entry(2))
        other.execute("ROLLBACK")
    table.record(entry(3))
    table.close()
    assert ids(path) == ["r1", "r3"]
