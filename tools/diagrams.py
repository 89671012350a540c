"""Draws the state tables of the source into docs/states.md, as Mermaid.

    python -m tools.diagrams            print what the page should be
    python -m tools.diagrams --write    write it

A table is a dict of (state, step) to state. This tool knows where the tables are and nothing of what they mean.

The one rule: the page is made from the tables alone, so that it cannot say anything that the program does not do; a
test compares the two.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "states.md"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One table: the module whose `NEXT` it is, and how the page introduces it."""

    module: str
    title: str
    says: str


TABLES = (
    Drawn(
        "emceepee.backends.lifecycle",
        "A connection to a server",
        "What a supervisor does with it. The `status` that `list_servers` shows is `connecting` while it starts, "
        "`connected` while it is ready or unwell, else why there is none: `disconnected`, `error`, `not_connected`.",
    ),
    Drawn(
        "emceepee.state.tasks",
        "A task",
        "A call that its client let go of. It ends once.",
    ),
    Drawn(
        "emceepee.relay.hold_life",
        "A held call",
        "A call whose server asks something, and whose client is sent away with the question "
        "([held calls](held-calls.md)).",
    ),
)

_HEAD = """# States

Drawn from the tables in the source by `tools/diagrams.py`; change the table, then run `make docs`. What is not
drawn cannot happen.
"""


def draw(table: Mapping[tuple[str, str], str]) -> str:
    """One arrow for each pair of states, with all the steps that lead that way. The first state listed is the first
    there is."""
    start = next(iter(table))[0]
    arrows: dict[tuple[str, str], list[str]] = {}
    for (state, step), following in table.items():
        arrows.setdefault((state, following), []).append(step)
    lines = [f"    {state} --> {following}: {', '.join(steps)}" for (state, following), steps in arrows.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {start}", *lines])


def page() -> str:
    parts = [_HEAD]
    for drawn in TABLES:
        source = drawn.module.removeprefix("emceepee.").replace(".", "/")
        table = importlib.import_module(drawn.module).NEXT
        parts.append(f"## {drawn.title}\n\n`{source}.py`. {drawn.says}\n\n```mermaid\n{draw(table)}\n```\n")
    return "\n".join(parts)


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
