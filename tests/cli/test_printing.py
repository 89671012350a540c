"""Text for people, JSON for programs."""

from __future__ import annotations

import json
import re

from msgspec import Raw

from emceepee.cli.printing import counted, how_to_connect, one_line, plain, print_json, table


def test_columns_are_as_wide_as_needed_and_the_last_is_cut() -> None:
    text = table(("NAME", "WHAT"), [("a", "x" * 100), ("longer", "two\nlines")], width=40)
    assert text.splitlines() == ["NAME    WHAT", "a       " + "x" * 31 + "…", "longer  two lines"]


def test_nothing_that_a_server_sent_rewrites_the_terminal() -> None:
    assert plain("a\x1b[2Jb\x07\x9bc\td\ne") == "a[2Jbc\td\ne"
    assert one_line("a\x1b]0;x\n b") == "a]0;x b"


def test_json_is_written_with_raw_values_as_they_came(capfdbinary) -> None:
    print_json({"result": Raw(b'{"unknown": 1e400, "n": "\xc3\xa9"}')})
    out = capfdbinary.readouterr().out
    assert b"1e400" in out
    assert "é".encode() in out


def test_the_snippets_for_clients_are_json_that_can_be_pasted() -> None:
    text = how_to_connect("http://127.0.0.1:8080/mcp")
    snippets = [json.loads(match) for match in re.findall(r"(\{.*\})$", text, re.MULTILINE)]
    assert snippets[0]["mcpServers"]["emceepee"] == {"type": "http", "url": "http://127.0.0.1:8080/mcp"}
    assert snippets[1]["servers"]["emceepee"]["url"] == "http://127.0.0.1:8080/mcp"
    assert "http://127.0.0.1:8080/direct/mcp" in text
    assert "bin/emceepee tools http://x/mcp" in how_to_connect("http://x/mcp", "bin/emceepee")


def test_one_is_not_many() -> None:
    assert (counted(1, "error"), counted(2, "error")) == ("1 error", "2 errors")
