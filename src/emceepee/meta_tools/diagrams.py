"""The states of things, drawn as Mermaid from the tables that the program runs by: our one resource.

`docs/states.md` is the same page. A table is a dict of (state, step) to state.

The one rule: it is made from the tables alone, so that it cannot say anything that the program does not do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from emceepee.backends import lifecycle
from emceepee.relay import hold_life
from emceepee.sessions import session
from emceepee.state import pending_requests, tasks

URI = "emceepee://diagrams"
OWNER = "emceepee"
"""Whose resource it is, where each is named together with its server."""

LISTED: dict[str, Any] = {
    "uri": URI,
    "name": "diagrams",
    "title": "How things stand, and what comes next",
    "description": "State diagrams of sessions, connections, tasks and questions, as Mermaid in Markdown.",
    "mimeType": "text/markdown",
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """One table: where its `NEXT` is, and how the page introduces it."""

    module: str
    table: Mapping[Any, str]
    title: str
    says: str


TABLES = (
    Drawn(
        "sessions/session.py",
        session.NEXT,
        "A session",
        "Of a client of a former revision: from its `initialize`, over its `notifications/initialized`, to its "
        "`DELETE`, half an hour without use, or the end of the gateway.",
    ),
    Drawn(
        "backends/lifecycle.py",
        lifecycle.NEXT,
        "A connection to a server, and how it is made again",
        "What a supervisor does with it. The `status` that `list_servers` shows is `connecting` while it starts, "
        "`connected` while it is ready or unwell, else why there is none: `disconnected`, `error`, `not_connected`.",
    ),
    Drawn("state/tasks.py", tasks.NEXT, "A task", "A call that its client let go of. It ends once."),
    Drawn(
        "state/pending_requests.py",
        pending_requests.NEXT,
        "An elicitation or a sampling request",
        "A question of a server, until somebody answers with `respond_to_elicitation` or `respond_to_sampling`, its "
        "time is over, its server or its workspace is gone, or the server wants no answer any more. Each ends once.",
    ),
    Drawn(
        "relay/hold_life.py",
        hold_life.NEXT,
        "A held call",
        "A call whose server asks something, and whose client is sent away with the question.",
    ),
)

_HEAD = """# States

Drawn from the tables in the source; what is not drawn cannot happen.
"""


def draw(table: Mapping[Any, str]) -> str:
    """One arrow for each pair of states, with all the steps that lead that way. The first state listed is the first
    there is."""
    start = next(iter(table))[0]
    arrows: dict[tuple[str, str], list[str]] = {}
    for (state, step), following in table.items():
        arrows.setdefault((state, following), []).append(step)
    lines = [f"    {state} --> {following}: {', '.join(steps)}" for (state, following), steps in arrows.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {start}", *lines])


@cache
def page() -> str:
    parts = [_HEAD]
    parts += [f"## {one.title}\n\n`{one.module}`. {one.says}\n\n```mermaid\n{draw(one.table)}\n```\n" for one in TABLES]
    return "\n".join(parts)


def contents() -> dict[str, Any]:
    """What reading the resource answers."""
    return {"contents": [{"uri": URI, "mimeType": LISTED["mimeType"], "text": page()}]}
