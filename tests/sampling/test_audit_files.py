"""Records are found again, whatever they are kept in."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from emceepee.sampling.audit import NoAudit
from emceepee.sampling.audit_files import Wanted, open_audit, read_audit
from emceepee.sampling.settings import AuditSettings

AT = "2026-11-01T00:00:00.000Z"
RECORDS = [
    {"id": "1", "timestamp": AT, "workspace": "w1", "server": "a", "outcome": "answered"},
    {"id": "2", "timestamp": AT, "workspace": "w1", "server": "b", "outcome": "refused"},
    {"id": "3", "timestamp": AT, "workspace": "w2", "server": "a", "outcome": "refused"},
]


@pytest.fixture(params=["audit.jsonl", "audit.db"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    log = open_audit(AuditSettings(str(path)))
    for record in RECORDS:
        log.record(record)
    log.close()
    return path


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Wanted(), ["1", "2", "3"]),
        (Wanted(server="a"), ["1", "3"]),
        (Wanted(outcome="refused"), ["2", "3"]),
        (Wanted(server="a", outcome="refused", workspace="w2"), ["3"]),
        (Wanted(server="c"), []),
    ],
)
def test_what_is_asked_for_is_found_in_its_order(file: Path, wanted: Wanted, ids: list[str]) -> None:
    assert [entry["id"] for entry in read_audit(file, wanted, 10).entries] == ids


def test_the_newest_are_found_when_there_are_more(file: Path) -> None:
    assert [entry["id"] for entry in read_audit(file, Wanted(), 2).entries] == ["2", "3"]


def test_what_was_put_aside_is_read_first(tmp_path: Path) -> None:
    log = open_audit(AuditSettings(str(tmp_path / "a.jsonl"), max_bytes=200))
    for record in RECORDS:
        log.record(record)
    log.close()
    assert (tmp_path / "a.jsonl.1").exists()
    assert [entry["id"] for entry in read_audit(tmp_path / "a.jsonl", Wanted(), 10).entries] == ["1", "2", "3"]


def test_a_line_that_is_cut_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id":"1"}\n[]\n{"id":"2"')
    found = read_audit(path, Wanted(), 10)
    assert (len(found.entries), found.unread) == (1, 2)


def test_a_file_that_is_not_there_or_no_table_is_said(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.db"):
        with pytest.raises(FileNotFoundError):
            read_audit(tmp_path / name, Wanted(), 10)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "b.db").write_text("no table at all, but long enough to be read as one")
    with pytest.raises(sqlite3.Error):
        read_audit(tmp_path / "b.db", Wanted(), 10)


def test_without_a_file_nothing_is_kept() -> None:
    assert isinstance(open_audit(AuditSettings()), NoAudit)
