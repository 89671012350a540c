"""The targets of speed and size, as data, and the judgement over a finding. Pure.

It knows no figure of its own: a finding is a ratio (or KiB a session) of things measured in this run. The one rule:
what was not measured is never called reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["aim", "must", "missed", "not measured"]


@dataclass(slots=True, frozen=True)
class Target:
    """At most `must`; `aim` is where we are going."""

    id: str
    what: str
    must: float
    aim: float
    unit: Literal["×", "KiB"] = "×"


@dataclass(slots=True, frozen=True)
class Finding:
    """`value` is None when what it needs could not be had; `case` tells the findings of one target apart."""

    target: Target
    case: str
    value: float | None


NGINX = Target("T1", "CPU per call over nginx's, 32 sessions", 6.0, 2.0)
FASTMCP = Target("T1", "CPU per call over FastMCP's proxy at its best", 1 / 50, 1 / 50)
META = Target("T2", "CPU per call of execute_tool over T1's", 1.5, 1.2)
STREAMED = Target("T3", "CPU per call with the backend answering as SSE over T1's", 1.5, 1.2)
ALONE = Target("T4", "p50 added to direct over what nginx adds, one session", 3.0, 1.5)
BIG = Target("T5", "CPU per call of a 1 MiB result over HAProxy's", 3.0, 1.2)
PIPED = Target("T6", "CPU per call with a stdio backend over T1's", 1.5, 1.0)
IDLE = Target("T7", "memory of an idle legacy session", 16.0, 6.0, "KiB")
IDLE_STREAM = Target("T7", "memory of an idle legacy session with an open stream", 48.0, 20.0, "KiB")
CONNECTED = Target("T8", "memory of an idle workspace with two HTTP servers connected", 96.0, 40.0, "KiB")
HELLO = Target("T9", "p50 of initialize with 10 HTTP backends over none", 2.0, 1.2)
EVENTS = Target("T10", "cost of an event", 1.3, 1.05)
ASKED = Target("T11", "p50 from a server's question to await_activity's answer over a plain call", 2.0, 1.2)
START = Target("T12", "start on stdio to the first answer over `import mcp`", 1.5, 0.7)
CROWD = Target("T13", "p99/p50 with 256 sessions over nginx's", 2.0, 1.0)

TARGETS = (
    NGINX, FASTMCP, META, STREAMED, ALONE, BIG, PIPED, IDLE, IDLE_STREAM, CONNECTED,
    HELLO, EVENTS, ASKED, START, CROWD,
)  # fmt: skip
IDS = tuple(dict.fromkeys(target.id for target in TARGETS))


def judge(finding: Finding) -> Verdict:
    """A figure exactly at a bound has reached it."""
    if finding.value is None:
        return "not measured"
    if finding.value <= finding.target.aim:
        return "aim"
    return "must" if finding.value <= finding.target.must else "missed"


def has_missed(findings: Sequence[Finding]) -> bool:
    return any(judge(finding) == "missed" for finding in findings)


def read_ids(text: str) -> frozenset[str]:
    """`T1,t4` to ids. Raises `ValueError` for one that is no target of this bench."""
    ids = frozenset(word.strip().upper() for word in text.split(",") if word.strip())
    if unknown := ids - set(IDS):
        raise ValueError(f"{', '.join(sorted(unknown))}: there is {', '.join(IDS)}")
    return ids
