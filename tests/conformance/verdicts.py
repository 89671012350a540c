"""What two runs of the suite say together: which scenarios the gateway keeps, loses, and may lose in this version.

Plain values in, plain values out; nothing is run here. The one rule: only a scenario that passes directly can be lost,
and one that comes out with a warning has not passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["pass", "warn", "fail", "skip"]
Word: TypeAlias = Literal["kept", "LOST", "other era", "gained", "fails directly", "not scored"]


@dataclass(frozen=True, slots=True)
class Check:
    id: str
    status: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    scored: bool
    checks: tuple[Check, ...]

    @property
    def outcome(self) -> Outcome:
        found = {check.status for check in self.checks}
        for status, outcome in _OUTCOMES:
            if status in found:
                return outcome
        return "skip"

    @property
    def good(self) -> bool:
        return self.outcome in ("pass", "skip")

    def complaints(self) -> list[str]:
        return [
            f"{check.id}: {' '.join(check.message.split())}"
            for check in self.checks
            if check.status in ("FAILURE", "WARNING")
        ]


_OUTCOMES: tuple[tuple[str, Outcome], ...] = (("FAILURE", "fail"), ("WARNING", "warn"), ("SUCCESS", "pass"))

Run: TypeAlias = Mapping[str, Scenario]
"""Scenarios by name, in the order of the suite."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    direct: Outcome
    through: Outcome
    word: Word
    complaints: tuple[str, ...] = ()


def compare(direct: Run, through: Run, excuses: Mapping[str, str]) -> list[Row]:
    """One row for each scenario that both runs have."""
    return [_row(name, scenario, through[name], excuses) for name, scenario in direct.items() if name in through]


def _row(name: str, direct: Scenario, through: Scenario, excuses: Mapping[str, str]) -> Row:
    complaints = () if through.good else tuple(through.complaints())
    return Row(name, direct.outcome, through.outcome, _word(name, direct, through, excuses), complaints)


def _word(name: str, direct: Scenario, through: Scenario, excuses: Mapping[str, str]) -> Word:
    if direct.good and through.good:
        return "kept"
    if through.good:
        return "gained"
    if not direct.good:
        return "fails directly"
    if not direct.scored:
        return "not scored"
    return "other era" if name in excuses else "LOST"


def lost(rows: Iterable[Row]) -> list[str]:
    return [row.name for row in rows if row.word == "LOST"]


def kept(rows: Iterable[Row], run: Run) -> tuple[int, int]:
    """Of the scored scenarios that pass directly: how many are kept, and how many there are."""
    scored = [row for row in rows if run[row.name].scored and row.word in ("kept", "LOST", "other era")]
    return sum(row.word == "kept" for row in scored), len(scored)


def idle_excuses(excuses: Iterable[str], rows: Iterable[Row]) -> list[str]:
    """Excuses that nothing needs any more; they are taken off the list."""
    used = {row.name for row in rows if row.word == "other era"}
    return sorted(set(excuses).difference(used))


def table(rows: Iterable[Row]) -> str:
    rows = list(rows)
    width = max((len(row.name) for row in rows), default=0)
    lines = [f"  {'scenario':{width}}  direct  through  verdict"]
    for row in rows:
        lines.append(f"  {row.name:{width}}  {row.direct:6}  {row.through:7}  {row.word}")
        if row.word == "LOST":
            lines.extend(f"      {complaint[:300]}" for complaint in row.complaints)
    return "\n".join(lines)
