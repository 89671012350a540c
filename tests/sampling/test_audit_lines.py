"""Records as lines: appended, bounded, and never in anybody's way."""

from __future__ import annotations

import json
import logging
import stat
from pathlib import Path

import pytest

from emceepee.sampling.audit_lines import AuditLines, aside


def entry(number: int) -> dict[str, object]:
    return {"id": f"r{number}", "server": "s", "outcome": "answered"}


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


@pytest.mark.shows("B-FLOW-09")
def test_each_record_is_a_line_that_only_the_owner_can_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "audit.jsonl"
    for number in range(2):
        lines = AuditLines(path, 10_000)
        lines.record(entry(number))
        lines.close()
    assert ids(path) == ["r0", "r1"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_file_is_put_aside_and_no_more_than_two_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    lines = AuditLines(path, 150)
    for number in range(11):
        lines.record(entry(number))
    lines.close()
    kept = ids(aside(path)) + ids(path)
    assert kept == [f"r{number}" for number in range(11 - len(kept), 11)]
    assert max(path.stat().st_size, aside(path).stat().st_size) <= 150
    assert len(list(tmp_path.iterdir())) == 2


def test_a_record_that_cannot_be_written_is_said_once_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    lines = AuditLines(path, 1000)
    with caplog.at_level(logging.ERROR, "emceepee.sampling"):
        lines.record(entry(1))
        lines.record(entry(2))
        assert [record.message for record in caplog.records] == ["sampling_audit_not_written"]
        path.rmdir()
        lines.record(entry(3))
    lines.close()
    assert ids(path) == ["r3"]
