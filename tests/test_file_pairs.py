"""Each source file has the test file that a reader would look for, or a reason why not.

`src/emceepee/front/http.py` is shown by `tests/front/test_http.py`, or, when one file would grow too long, by several:
`tests/front/test_http_<topic>.py`. It does not say that the tests are good, only that they are where one looks first.

The one rule: a file with behaviour of its own is never in `UNPAIRED`; that list is for words, and for what starts us.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "emceepee"
TESTS = ROOT / "tests"

UNPAIRED: dict[str, str] = {
    "__main__.py": "one line; tests/processes starts us by it",
    "backends/transport.py": "a Protocol; its contract suite runs over each transport",
    "errors.py": "the tree of faults; shown where each is raised and where front/answers.py writes it",
    "front/settings.py": "records without behaviour",
    "front/shop.py": "a record without behaviour",
    "relay/surface.py": "a Protocol; each surface that keeps it has its own tests",
    "sampling/approval.py": "records and a Protocol; each approver has its own tests",
    "sampling/content_rule.py": "a record without behaviour",
    "sessions/settings.py": "records without behaviour",
    "state/recording.py": "records and a Protocol; each table in state/ writes through it",
    "state/settings.py": "records without behaviour",
    "vocabulary/abilities.py": "records without behaviour",
    "vocabulary/asks.py": "records without behaviour",
    "vocabulary/calls.py": "records without behaviour",
    "vocabulary/notices.py": "records without behaviour",
    "vocabulary/outcomes.py": "records without behaviour",
    "vocabulary/tasks.py": "records without behaviour",
}


def _sources() -> list[str]:
    files = [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
    return sorted(path.relative_to(SOURCE).as_posix() for path in files)


def _tests_of(source: str) -> list[Path]:
    path = Path(source)
    room = TESTS / path.parent
    return [*room.glob(f"test_{path.stem}.py"), *room.glob(f"test_{path.stem}_*.py")]


def test_each_source_file_has_its_test_file() -> None:
    lonely = [source for source in _sources() if source not in UNPAIRED and not _tests_of(source)]
    assert not lonely, "write tests/<room>/test_<file>.py, or a reason in UNPAIRED, for: " + ", ".join(lonely)


def test_no_reason_is_kept_for_a_file_that_is_gone_or_has_its_tests() -> None:
    stale = [source for source in UNPAIRED if not (SOURCE / source).exists() and source != "__main__.py"]
    stale += [source for source in UNPAIRED if _tests_of(source)]
    assert not stale, ", ".join(stale)
