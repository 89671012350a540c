"""Who may import whom, as a table with a reason for each arrow, and the walls that keep the rooms what they are.

It reads the source with `ast` and imports nothing of it, so that it says the truth about a broken tree too. An import
under `TYPE_CHECKING` counts: to know a name is to depend on it.

The one rule: an arrow that is not in `ARROWS` does not exist. Adding one means writing its reason here, in review.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "emceepee"

ANY_SETTINGS = "*.settings"

MIDDLE = {
    "vocabulary": "a call is carried in these words and no others",
    "runtime": "deadlines, ids and tasks",
    "observability": "each call tells how it ended",
    "sessions": "whose call it is",
    "state": "what outlives it",
    "backends": "where it goes",
}

ARROWS: dict[str, dict[str, str]] = {
    "errors": {},
    "runtime": {},
    "vocabulary": {},
    "protocol": {"vocabulary.raw_json": "payloads stay bytes until someone needs to look inside"},
    "framing": {
        "protocol.messages": "what bytes become, and come from",
        "vocabulary.raw_json": "limits are checked on the raw text",
    },
    "eras": {
        "vocabulary": "one side of the translation",
        "protocol": "the other side",
        "framing": "an event stream and a batch look different in each era",
    },
    "observability": {
        "vocabulary": "what happened is told in these words",
        "runtime": "when it happened",
    },
    "state": {
        "vocabulary": "what is kept is written in these words",
        "runtime": "times and ids are theirs to give",
        "observability": "what had to go is told",
    },
    "sampling": {
        "vocabulary": "whose request it is",
        "runtime": "limits and time-outs, and when a quota is there again",
    },
    "sessions": {
        "vocabulary": "names, scopes and notices",
        "state": "a workspace is made of it",
        "runtime": "idle times and unguessable ids",
        "observability": "a session that begins or ends is told",
    },
    "backends": {
        "vocabulary": "what is asked of a server, and what it answers",
        "protocol": "one peer for each conversation",
        "framing": "bytes of a pipe or a stream",
        "eras": "each connection writes in the era its server speaks",
        "runtime": "deadlines, ids and tasks",
        "observability": "a connection that changes is told",
    },
    "tools": {
        "vocabulary": "names, levels, and JSON",
        "protocol": "a local server is one end of a conversation, and asks too",
        "runtime": "deadlines, and a name for each connection",
        "sampling": "what a model is asked, and what it answers",
        "backends.in_memory": "the door by which a server in this process is reached",
    },
    "storage": {
        "vocabulary": "what is kept is written in these words",
        "runtime": "when it was put there",
        "state.kept_tasks": "a Protocol to keep",
        "state.tasks": "what a task looks like",
        "backends.kept_servers": "a Protocol to keep",
        "sessions.kept_handles": "a Protocol to keep",
        "backends.definition": "what a server looks like",
    },
    "relay": MIDDLE,
    "meta_tools": {**MIDDLE, "relay": "a meta-tool carries calls as any surface does"},
    "front": {
        "vocabulary": "what a client wants",
        "protocol": "each request is owed one answer",
        "framing": "bytes of a body, a pipe or a stream",
        "eras": "the era of a client is known here and at the other edge only",
        "runtime": "keep-alives, deadlines and tasks",
        "observability": "an exchange that ends is told",
        "sessions": "whose request it is",
        "relay": "the surface behind a path",
    },
    "config": {
        ANY_SETTINGS: "each part owns its settings; this one fills them in",
        "backends.definition": "a configured server is a definition",
        "backends.own_address": "a configured server must not be the gateway itself",
        "vocabulary.names": "what may be a server's name is said there, and checked before one is defined",
        "sampling.model": "a configured model is one of the catalogue",
        "sampling.providers.definition": "who serves it, and what is missing for that",
        "sampling.content_rule": "what an answer must not contain is written by the operator",
    },
    "reloading": {
        "config": "what is read again, and what of it is a change",
        "backends.definition": "a changed server is another definition",
        "backends.registry": "where changes are put",
        "relay.news": "sessions are told of them",
        "runtime.clock": "how often files are looked at",
    },
    "cli": {
        "config": "a command starts from settings",
        "app": "`serve` and the plain command run it",
        "observability": "where log lines go is decided before anything runs",
        "sampling": "`audit` reads its records, and `serve` may ask the person at its terminal",
        "storage.place": "where the state file lies is decided before anything runs",
        "protocol": "`call` and `tools` are a client of their own",
        "framing": "the same",
        "eras": "the same",
        "backends": "the same",
        "vocabulary": "the same",
        "runtime": "the same",
    },
}
"""Part -> what it may import of ours -> why. Everyone may import `errors`. `app` may import everything."""

SEALED = {
    ("eras.legacy", "eras.modern"): "each era is one sealed adapter; what both need lies beside them",
    ("eras.modern", "eras.legacy"): "each era is one sealed adapter; what both need lies beside them",
}

PRODUCT_DEPENDENCIES = {"cryptography", "msgspec", "httptools", "uvloop"}

EXTRAS = {
    "anthropic": "sampling.providers.anthropic",
    "openai": "sampling.providers.openai",
    "xllamacpp": "sampling.providers.local",
}
"""Packages that come by an extra, and the one module that imports each, inside of a function: without the extra, all
else works."""

PURE = ("vocabulary", "protocol", "framing", "eras")

RESERVED: list[tuple[frozenset[str], tuple[str, ...], str]] = [
    (
        frozenset({"time", "random", "secrets", "uuid"}),
        tuple(room for room in (*ARROWS, "app", "__main__") if room != "runtime"),
        "time, ids and chance are handed out by `runtime`",
    ),
    (
        frozenset({"asyncio", "logging", "socket", "ssl", "selectors", "threading", "subprocess", "concurrent"}),
        PURE,
        "this room decides and does nothing: no loop, no log, no socket",
    ),
]
"""Modules of the standard library, the parts that may not import them, and why."""

STARTS_TASKS = {"create_task", "ensure_future"}
MAY_START_TASKS = {"runtime.spawn"}
MAY_PRINT = {"cli"}


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    tree: ast.Module

    @property
    def part(self) -> str:
        return self.name.split(".", maxsplit=1)[0]

    def imports(self) -> Iterator[tuple[str, int]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name}:{node.lineno}: imports are absolute"
                for alias in node.names:
                    yield f"{node.module}.{alias.name}", node.lineno

    def imports_of_ours(self) -> Iterator[tuple[str, int]]:
        for name, line in self.imports():
            inner = name.removeprefix("emceepee.")
            if inner != name and inner != "__version__":
                yield inner, line

    def calls(self) -> Iterator[tuple[str, int]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                match node.func:
                    case ast.Name(id=name) | ast.Attribute(attr=name):
                        yield name, node.lineno


def _module(path: Path) -> Module:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name or "__init__", ast.parse(path.read_text(encoding="utf-8"), filename=str(path)))


MODULES = [_module(path) for path in sorted(SOURCE.rglob("*.py"))]


def inside(name: str, place: str) -> bool:
    return name == place or name.startswith(place + ".")


def may_import(module: Module, target: str) -> bool:
    part = module.part
    if part in {"app", "__main__"} or inside(target, part) or inside(target, "errors"):
        return True
    for place in ARROWS.get(part, {}):
        if place == ANY_SETTINGS and "settings" in target.split(".")[1:3]:
            return True
        if inside(target, place):
            return True
    return False


def strangers(module: Module) -> list[str]:
    return [
        f"{module.name}:{line} {target}" for target, line in module.imports_of_ours() if not may_import(module, target)
    ]


def test_a_part_imports_only_what_its_row_of_the_table_allows() -> None:
    wrong = [stranger for module in MODULES for stranger in strangers(module)]
    assert not wrong, "not in ARROWS: " + "; ".join(wrong)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("front.http", "from emceepee.backends.pool import Pool"),
        ("backends.pool", "import emceepee.front.http"),
        ("relay.call", "from emceepee import eras"),
        ("protocol.peer", "from emceepee.vocabulary.calls import Call"),
        ("config.load", "from emceepee.backends.pool import Pool"),
        ("runtime.clock", "if TYPE_CHECKING:\n    from emceepee.vocabulary.names import Scope"),
    ],
)
def test_an_arrow_that_is_not_in_the_table_is_seen(name: str, line: str) -> None:
    assert strangers(Module(name, ast.parse(line)))


def test_the_eras_stay_sealed_from_each_other() -> None:
    wrong = [
        f"{module.name}:{line} {target}"
        for (here, there), _reason in SEALED.items()
        for module in MODULES
        if inside(module.name, here)
        for target, line in module.imports_of_ours()
        if inside(target, there)
    ]
    assert not wrong, "see SEALED: " + "; ".join(wrong)


def test_only_the_product_dependencies_come_from_outside() -> None:
    known = PRODUCT_DEPENDENCIES | set(sys.stdlib_module_names) | {"emceepee"}
    wrong = [
        f"{module.name}:{line} {name}"
        for module in MODULES
        for name, line in module.imports()
        if name.split(".")[0] not in known and EXTRAS.get(name.split(".")[0]) != module.name
    ]
    assert not wrong, "not in PRODUCT_DEPENDENCIES: " + "; ".join(wrong)


def test_what_comes_by_an_extra_is_not_imported_before_it_is_used() -> None:
    loaded = "import emceepee.app, emceepee.sampling.providers.opening, sys; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert not EXTRAS.keys() & set(modules)


def test_what_is_reserved_for_one_room_is_not_taken_by_another() -> None:
    wrong = [
        f"{module.name}:{line} {name}: {reason}"
        for modules, forbidden_in, reason in RESERVED
        for module in MODULES
        if module.part in forbidden_in
        for name, line in module.imports()
        if name.split(".")[0] in modules
    ]
    assert not wrong, "; ".join(wrong)


@pytest.mark.shows("X-PY-04")
def test_tasks_are_started_in_one_place() -> None:
    modules = [module for module in MODULES if module.name not in MAY_START_TASKS]
    wrong = [
        f"{module.name}:{line} {name}" for module in modules for name, line in module.calls() if name in STARTS_TASKS
    ]
    assert not wrong, "start tasks with runtime.spawn.TaskScope: " + "; ".join(wrong)


def test_only_the_command_line_prints() -> None:
    modules = [module for module in MODULES if module.part not in MAY_PRINT]
    wrong = [f"{module.name}:{line}" for module in modules for name, line in module.calls() if name == "print"]
    assert not wrong, "stdout belongs to the protocol: " + "; ".join(wrong)


def test_each_part_has_its_row() -> None:
    parts = {module.part for module in MODULES} - {"__init__", "__main__", "app"}
    assert parts <= ARROWS.keys(), "a new part needs a row in ARROWS, with reasons"


@pytest.mark.shows("A-MOD-01")
def test_sessions_tools_logging_and_http_are_separate_parts_that_only_the_app_joins() -> None:
    separate = {"sessions", "meta_tools", "observability", "front", "config"}
    assert separate <= {module.part for module in MODULES}
    for part in separate:
        assert not separate & ARROWS[part].keys() - {"sessions", "observability"}
    assert [part for part, row in ARROWS.items() if "app" in row] == ["cli"]


def test_each_arrow_has_its_reason() -> None:
    assert all(reason for row in ARROWS.values() for reason in row.values())


def test_the_table_has_no_circle() -> None:
    """Two parts which may import each other are one part with two names."""
    reached: dict[str, set[str]] = {}

    def reach(part: str, way: tuple[str, ...]) -> set[str]:
        assert part not in way, " -> ".join((*way, part))
        if part not in reached:
            targets = {place.split(".")[0] for place in ARROWS.get(part, {})} - {"*"}
            reached[part] = targets.union(*(reach(target, (*way, part)) for target in targets))
        return reached[part]

    for part in ARROWS:
        reach(part, ())
