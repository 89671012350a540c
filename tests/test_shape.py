"""The shape of the house: a file says what it is, and nothing grows past what can be read in one sitting.

It counts and judges no style. The one rule: a bound here is never raised for one file; the file is cut.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

FILE_LINES = 600
FILE_LINES_OF_MOST = 400
TEST_FILE_LINES = 800
FUNCTION_LINES = 60
FUNCTION_LINES_OF_MOST = 30
MOST = 0.9
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "core"}


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _functions(path: Path) -> list[tuple[str, int]]:
    """Each function with its number of lines, its docstring and decorators not counted."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            doc = node.body[0].end_lineno or 0 if ast.get_docstring(node) is not None else 0
            doc_lines = doc - node.body[0].lineno + 1 if doc else 0
            found.append(
                (f"{path.name}:{node.lineno} {node.name}", (node.end_lineno or 0) - node.lineno + 1 - doc_lines)
            )
    return found


def _at(share: float, sizes: list[int]) -> int:
    return sorted(sizes)[int(share * (len(sizes) - 1))]


def test_each_file_opens_with_what_it_is() -> None:
    silent = [
        path for path in SOURCES + TESTS if ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None
    ]
    assert not silent, ", ".join(str(path.relative_to(ROOT)) for path in silent)


def test_no_file_is_named_for_nothing() -> None:
    named = [path for path in SOURCES if {path.stem, path.parent.name} & NAMES_THAT_SAY_NOTHING]
    assert not named, ", ".join(str(path.relative_to(ROOT)) for path in named)


def test_files_are_read_in_one_sitting() -> None:
    sizes = {path: _lines(path) for path in SOURCES}
    long = [f"{path.relative_to(ROOT)} ({size})" for path, size in sizes.items() if size > FILE_LINES]
    assert not long, ", ".join(long)
    assert _at(MOST, list(sizes.values())) <= FILE_LINES_OF_MOST


def test_test_files_are_read_in_one_sitting() -> None:
    long = [f"{path.relative_to(ROOT)} ({_lines(path)})" for path in TESTS if _lines(path) >= TEST_FILE_LINES]
    assert not long, ", ".join(long)


def test_functions_fit_on_a_screen() -> None:
    functions = [function for path in SOURCES for function in _functions(path)]
    long = [f"{name} ({size})" for name, size in functions if size > FUNCTION_LINES]
    assert not long, ", ".join(long)
    assert _at(MOST, [size for _name, size in functions]) <= FUNCTION_LINES_OF_MOST
