"""Python that the documents show compiles, imports what exists, and runs as far as it begins nothing.

The one rule: a block that serves or awaits is not run, but each name that it imports is looked up; the others are run
in their order.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("local-tools.md", "sampling.md")


def blocks(document: str) -> list[str]:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def begins_something(tree: ast.Module) -> bool:
    """A top-level await, or a loop of its own."""
    tops = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    inside = [one for node in tops for one in ast.walk(node)]
    return any(isinstance(one, ast.Await) or (isinstance(one, ast.Attribute) and one.attr == "run") for one in inside)


@pytest.mark.parametrize("document", DOCUMENTS)
async def test_the_blocks_of_a_document_are_right_one_after_the_other(document: str) -> None:
    names: dict[str, Any] = {"__name__": "a document"}
    found = blocks(document)
    assert found
    for number, block in enumerate(found):
        tree = compile(block, f"{document}-{number}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(str(node.module))
                assert not [alias.name for alias in node.names if not hasattr(module, alias.name)]
        if not begins_something(tree):
            exec(compile(block, f"{document}-{number}", "exec"), names)  # noqa: S102 - our own documents


def test_the_example_of_a_small_model_answers_or_says_what_it_lacks() -> None:
    command = [sys.executable, "-m", "examples.small_model"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "> What is the capital of France?" in done.stdout or "make demo-model" in done.stdout
