"""What the documents and the examples tell a reader to type works, and prints what they say.

The real program answers, on a free port. It does not judge how an example reads. The one rule: nothing here reaches
beyond this machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emceepee.config.load import load
from tools.transcripts import DOCUMENTS, broken, environment, gateway, rewritten, timeless

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SECONDS = 60


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with gateway() as (_, address):
        yield f"http://{address}"


def output_of(*command: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env=environment(ROOT / ".cache"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=[path.name for path in DOCUMENTS])
def test_what_a_document_shows_is_what_a_run_prints(document: Path) -> None:
    """When this fails and the new output is right: `make docs`."""
    text = document.read_text(encoding="utf-8")
    assert timeless(rewritten(text)) == timeless(text)


def test_json_is_broken_into_lines_only_where_it_does_not_fit() -> None:
    assert broken({"a": [1, "ä"]}) == '{"a": [1, "ä"]}'
    value = {"a": [{"b": "x" * 60}, {"c": "y" * 60}], "d": {}}
    assert json.loads(broken(value)) == value
    assert broken(value).splitlines()[1] == '  "a": ['


def test_the_example_configuration_has_no_mistake() -> None:
    loaded = load([str(EXAMPLES / "mcp.json")], {}, ROOT, listens=True)
    assert loaded.problems == ()
    assert [definition.name for definition in loaded.definitions] == ["clock", "remote", "everything"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="this machine has no curl")
def test_both_eras_are_spoken_by_hand_with_curl(served: str) -> None:
    said = output_of("sh", EXAMPLES / "curl.sh", f"{served}/servers/demo/mcp").splitlines()
    answers = [json.loads(line[2:]) for line in said if line.startswith("< {")]
    modern, hello, legacy = (answer["result"] for answer in answers)
    assert modern["content"][0]["text"] == "hello"
    assert hello["protocolVersion"] == "2025-11-25"
    assert legacy["structuredContent"] == {"sum": 42}
    assert said[-1] == "--- done"


def test_the_python_client_finds_a_tool_calls_it_and_follows_its_progress(served: str) -> None:
    said = output_of(sys.executable, EXAMPLES / "python_client.py", f"{served}/mcp").splitlines()
    assert said[0] == "speaking 2026-07-28"
    assert json.loads(said[1])["tools"] == [{"server": "demo", "name": "add"}]
    assert said[2:] == [
        "{'sum': 42}",
        "  1 of 3: 2 to go",
        "  2 of 3: 1 to go",
        "  3 of 3: 0 to go",
        "Counted down from 3.",
    ]
