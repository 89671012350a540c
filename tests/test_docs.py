"""What the documents say exists, exists; and what one needs to know is said.

It checks names (make targets, files, settings, tools, options, codes), never prose. What commands print is checked in
`tests/test_examples.py`. The one rule: a document may be silent about how, not about what there is, and never wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from emceepee.cli.arguments import make_parser
from emceepee.config import entry, sampling_settings
from emceepee.config.settings import DEFAULTS, Limits, Settings, Timeouts
from emceepee.errors import BackendFault
from emceepee.meta_tools.table import OFFERS, TABLE
from emceepee.meta_tools.tool import Param
from emceepee.sampling.settings import SamplingOptions
from tests.support.tokens import tokens
from tests.test_imports import ANY_SETTINGS, ARROWS
from tools import diagrams

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


def _read(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _rows(text: str) -> dict[str, list[str]]:
    """The rows of all tables by each name in the first cell; the other cells."""
    rows: dict[str, list[str]] = {}
    for line in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
        first, *rest = (cell.strip() for cell in line.split(" | "))
        rows |= dict.fromkeys(re.findall(r"`([^`]+)`", first), rest)
    return rows


# -- settings


def _settings(node: Settings | Timeouts | Limits, prefix: str = "") -> Iterator[tuple[str, object]]:
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, SamplingOptions):
            continue
        if dataclasses.is_dataclass(value):
            assert isinstance(value, Timeouts | Limits)
            yield from _settings(value, f"{field.name}.")
        else:
            yield prefix + field.name, value


def test_each_setting_is_documented_with_its_default() -> None:
    section = _read("configuration.md").partition("\n## Settings\n")[2]
    told = {name: json.loads(cells[0].strip("`")) for name, cells in _rows(section).items()}
    assert told == {name: list(value) if isinstance(value, tuple) else value for name, value in _settings(DEFAULTS)}


def test_each_setting_of_sampling_is_documented() -> None:
    section = _read("sampling.md").partition("\n## Settings\n")[2].partition("\n## ")[0]
    source = Path(sampling_settings.__file__).read_text(encoding="utf-8")
    taken = set(re.findall(r"\.(?:said|among|yes|whole|figure|share|several|named|listed|find)\(\s*\"(\w+)\"", source))
    assert taken - _WITHOUT_A_ROW == {name.rpartition(".")[2] for name in _rows(section)}


_WITHOUT_A_ROW = {"audit", "limits"}
"""Maps, which are there by what is in them."""


def test_each_key_of_a_server_is_documented() -> None:
    section = _read("configuration.md").partition("\n## Servers\n")[2].partition("\n## ")[0]
    taken = re.findall(r"entry\.take\(([^)]*)\)", Path(entry.__file__).read_text(encoding="utf-8"))
    keys = {key for names in taken for key in re.findall(r'"(\w+)"', names)}
    assert set(_rows(section)) == keys.union(entry._URL_KEYS)


# -- the command line


def _options(parser: argparse.ArgumentParser) -> set[str]:
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    return {option for action in shown for option in action.option_strings} - {"-h", "--help"}


def test_each_command_and_option_is_documented() -> None:
    top = make_parser()
    (commands,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    text = _read("command-line.md")
    for name, parser in commands.choices.items():
        assert f"`emceepee {name}`" in text
        assert not [option for option in _options(parser) if not re.search(rf"[`\[]{option}[ `\]]", text)], name
    assert not [option for option in _options(top) if f"`{option}" not in text]


def test_no_option_is_documented_that_does_not_exist() -> None:
    top = make_parser()
    (commands,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    real = _options(top).union({"--help"}, *(_options(parser) for parser in commands.choices.values()))
    assert set(re.findall(r"`(--[a-z-]+)", _read("command-line.md"))) <= real


# -- the meta-tools


def test_each_meta_tool_has_its_section() -> None:
    assert re.findall(r"^### `(\w+)`$", _read("meta-tools.md"), re.MULTILINE) == list(TABLE)


def test_what_the_list_of_tools_costs_is_told_about_right() -> None:
    text = _read("meta-tools.md")
    full, core = (int(said.replace(",", "")) for said in re.findall(r"about ([\d,]+)(?: tokens|, held)", text))
    assert abs(full - tokens(OFFERS["full"].payload.decode())) <= 250
    assert abs(core - tokens(OFFERS["core"].payload.decode())) <= 100


@pytest.mark.parametrize("tool", TABLE)
def test_a_meta_tools_section_has_its_arguments(tool: str) -> None:
    section = _read("meta-tools.md").partition(f"\n### `{tool}`\n")[2].partition("\n### ")[0]
    table = re.findall(r"^\| `(\w+)` \| ([^|]*) \|(.*)\|$", section, re.MULTILINE)
    params = TABLE[tool].params
    assert [name for name, _, _ in table] == list(params)
    for name, kind, says in table:
        _check_kind(params[name], kind)
        assert all(f"`{alias}`" in says for alias in params[name].aliases if alias.islower()), name


_SAID = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "objects": "list of objects",
    "boolean": "boolean",
    "strings": "list of strings",
    "string_map": "map of strings",
    "text_or_object": "string or object",
    "object": "object",
}


def _check_kind(param: Param, said: str) -> None:
    assert said.endswith(", required") == param.required
    if param.among:
        assert set(re.findall(r"`(\w+)`", said)) == set(param.among)
    else:
        assert said.startswith(_SAID[param.kind])
    if param.most is not None:
        assert f"{param.least} to {param.most}" in said


# -- errors


def _source() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))


def test_each_code_of_a_meta_tool_is_explained_and_exists() -> None:
    told = {name for name in _rows(_read("errors.md")) if name.startswith("TOOL_ERR_")}
    assert told == set(re.findall(r"TOOL_ERR_[A-Z_]+", _source()))


def test_each_reason_is_explained_and_exists() -> None:
    section = _read("errors.md").partition("| `data.reason` |")[2].partition("\n\n")[0]
    told = set(_rows(section))
    faults = {BackendFault, *BackendFault.__subclasses__()}
    assert {fault.reason for fault in faults} <= told
    source = _source()
    assert not [reason for reason in told if f'"{reason}"' not in source]


# -- diagrams


def test_the_states_are_drawn_as_the_tables_have_them() -> None:
    """When this fails: `make docs`."""
    assert diagrams.PAGE.read_text(encoding="utf-8") == diagrams.page()
