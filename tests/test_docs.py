"""What the documents say exists, exists; and what one needs to know is said.

It checks names (make targets, files, settings), never prose. The one rule: a document may be silent, not wrong.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_imports import ANY_SETTINGS, ARROWS

ROOT = Path(__file__).parents[1]
PROSE = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])

each_document = pytest.mark.parametrize("document", PROSE, ids=[path.name for path in PROSE])


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_contributing_names_each_make_target() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert not [target for target in _targets() if f"make {target}" not in text]


@each_document
def test_each_make_target_that_a_document_names_exists(document: Path) -> None:
    said = re.findall(r"(?:`|^ {4}|^\$ )make ([a-z][a-z-]*)", document.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(said) <= _targets()


@each_document
def test_each_source_file_that_a_document_names_exists(document: Path) -> None:
    """A file is named by its path in backticks, from the checkout or, as the walk of a call does, from the package."""
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|sh|txt|md))(?:[:#][^`]*)?`", text)
    places = (ROOT, ROOT / "src" / "emceepee", document.parent)
    assert not [name for name in named if not any((place / name).exists() for place in places)]


def test_each_relative_link_leads_somewhere() -> None:
    broken = []
    for document in PROSE:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            if "://" not in link and not link.startswith("mailto:") and not (document.parent / link).exists():
                broken.append(f"{document.name}: {link}")
    assert not broken


def test_contributing_tells_the_import_table_as_it_is() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| [^|]* \| ([^|]*) \|$", text, re.MULTILINE)
    told = {part: set(re.findall(r"`([a-z_.]+)`", may)) for part, may in rows if part != "app"}
    told["meta_tools"] |= told["relay"]
    told["config"].add(ANY_SETTINGS)
    assert told == {part: set(row) for part, row in ARROWS.items() if part != "errors"}
