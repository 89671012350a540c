"""`emceepee audit` prints what was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emceepee.cli.main import main

ANSWERED = {
    "id": "1",
    "timestamp": "2026-11-01T00:00:00.000Z",
    "workspace": "a1b2",
    "server": "studio",
    "outcome": "answered",
    "model": "small-1",
    "why": ["small-1 is the only one left"],
    "steps": [],
    "inputTokens": 10,
    "outputTokens": 5,
    "cost": 0.001,
}
REFUSED = {
    "id": "2",
    "timestamp": "2026-11-01T00:00:01.000Z",
    "workspace": "a1b2",
    "server": "tuner",
    "outcome": "refused",
    "message": "User rejected sampling request",
    "steps": [{"step": "validate", "outcome": "passed"}, {"step": "approve", "outcome": "refused: not now"}],
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "audit.jsonl"
    path.write_text(json.dumps(ANSWERED) + "\n" + json.dumps(REFUSED) + "\n")
    return str(path)


@pytest.mark.shows("B-FLOW-09")
def test_each_record_is_a_line_with_who_what_and_why(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", file]) == 0
    head, first, second, sums = capsys.readouterr().out.splitlines()
    assert head.split() == ["WHEN", "SERVER", "WORKSPACE", "OUTCOME", "MODEL", "TOKENS", "COST", "WHY"]
    assert first.split()[1:7] == ["studio", "a1b2", "answered", "small-1", "10+5", "0.001"]
    assert second.endswith("approve: not now")
    assert sums == "2 records, 15 tokens, cost 0.001"


def test_some_can_be_chosen_and_printed_as_they_are(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", file, "--outcome", "refused", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"file": file, "records": [REFUSED], "unreadable": 0}


def test_the_file_of_the_configuration_is_the_one_that_is_read(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {}, "emceepee": {"sampling": {"audit": {"file": file}}}}))
    assert main(["audit", "--config", str(config), "--server", "nobody"]) == 0
    assert capsys.readouterr().out == "0 records, 0 tokens, cost 0\n"


def test_without_a_file_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {}}')
    assert main(["audit", "--config", str(config)]) == 1
    assert "sampling.audit.file" in capsys.readouterr().err
    assert main(["audit", str(tmp_path / "gone.jsonl")]) == 1
    assert "nothing was recorded yet" in capsys.readouterr().err
