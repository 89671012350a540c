"""`emceepee check`."""

from __future__ import annotations

import json

import pytest

from emceepee.cli.main import main

BAD = """{
  "mcpServers": {
    "good": {"command": "x"},
    "off": {"command": "x", "disabled": true},
    "bad": {"url": "ftp://me:hunter2@x/"}
  }
}"""


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("EMCEEPEE_CONFIG", "XDG_CONFIG_HOME", "APPDATA", "HOME"):
        monkeypatch.delenv(name, raising=False)


def test_a_configuration_without_mistakes_is_0_with_its_servers(tmp_path, capsys) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    assert main(["check"]) == 0
    out, err = capsys.readouterr()
    assert "a" in out
    assert "1 server, no errors" in out
    assert err == ""


def test_every_mistake_is_printed_with_place_and_cure_and_the_code_is_1(tmp_path, capsys) -> None:
    file = tmp_path / "x.json"
    file.write_text(BAD)
    assert main(["check", str(file)]) == 1
    out = capsys.readouterr().out
    assert f"{file}:5:13: error: mcpServers.bad.url: the URL has the scheme 'ftp'" in out
    assert "2 servers, 1 error" in out
    assert "hunter2" not in out


def test_as_json_there_is_one_object_and_nothing_else(tmp_path, capsys) -> None:
    (tmp_path / "x.json").write_text(BAD)
    assert main(["check", "x.json", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert [server["name"] for server in found["servers"]] == ["good", "off"]
    assert found["problems"][0] == {
        "file": "x.json",
        "line": 5,
        "column": 13,
        "where": "mcpServers.bad.url",
        "what": "the URL has the scheme 'ftp'; only http and https are reached",
        "cure": "",
        "severity": "error",
    }


def test_a_note_alone_is_no_failure(tmp_path, capsys) -> None:
    (tmp_path / "x.json").write_text('{"mcpServers": {"a": {"command": "x", "args": [5]}}}')
    assert main(["check", "x.json"]) == 0
    assert "note:" in capsys.readouterr().out


def test_a_file_that_is_not_there_is_1_and_nothing_at_all_is_0(capsys) -> None:
    assert main(["check", "none.json"]) == 1
    assert "cannot be read" in capsys.readouterr().out
    assert main(["check"]) == 0
    assert "demonstration" in capsys.readouterr().out


def test_several_files_are_checked_together(tmp_path, capsys) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('{"mcpServers": {"a": {"command": "x"}}}')
    assert main(["check", "a.json", "b.json"]) == 0
    assert "b.json:1:17: note: mcpServers.a: the server 'a' is already in a.json" in capsys.readouterr().out


@pytest.mark.shows("X-GAP-10")
def test_listening_beyond_this_machine_is_among_the_mistakes(tmp_path, capsys) -> None:
    (tmp_path / "mcp.json").write_text('{"emceepee": {"host": "0.0.0.0"}, "mcpServers": {}}')
    assert main(["check"]) == 1
    assert "--insecure-no-auth" in capsys.readouterr().out
