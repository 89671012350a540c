"""What was measured, as tables for people and as JSON for tools. It computes nothing that is judged.

The one rule: a wrong answer and a comparison that was left out are always in it.
"""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Iterable, Sequence
from typing import Any

from bench.figures import Measured, Sample
from bench.measures import KIBI, Outcome
from bench.targets import Finding, judge

_MICRO = 1_000_000
_WORDS = {"aim": "reached, and the aim", "must": "reached", "missed": "MISSED", "not measured": "not measured"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown that reads well as text too: the first column to the left, numbers to the right."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    numeric = [column > 0 and all(_is_number(line[column]) for line in lines[1:]) for column in range(len(head))]
    written = [
        "| " + " | ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numeric, strict=True)) + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (w + 1) + (":" if n else "-") for w, n in zip(widths, numeric, strict=True)) + "|"
    return "\n".join([written[0], rule, *written[1:]])


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text in ("", "–")


def write_outcome(outcome: Outcome) -> str:
    parts = [f"## {outcome.title}", ""]
    if outcome.measured:
        parts.append(_measured_table(outcome.measured))
    if outcome.idle is not None:
        sizes = [(f"{number:,}", f"{each / KIBI:.1f}") for number, each in outcome.idle.grown.items()]
        parts.append(table(("sessions", "KiB each"), sizes))
        parts.append(f"\nempty gateway: {outcome.idle.empty / KIBI / KIBI:.1f} MiB")
    if outcome.compared is not None:
        both = zip(outcome.compared.what, (outcome.compared.one, outcome.compared.other), strict=True)
        rows = [(what, _duration(sorted(took)[len(took) // 2]), str(len(took))) for what, took in both]
        parts.append(table(("", "median", "rounds"), rows))
    parts += [f"\nleft out, {gap.what} is not here: {gap.cure}" for gap in outcome.missing]
    parts += [
        f"\nWRONG {one.hop}{_work(one)}: {text}"
        for one in outcome.measured
        for s in one.samples
        for text in s.complaints
    ]
    return "\n".join([*parts, ""])


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds >= 0.0001 else f"{seconds * _MICRO:.2f} µs"


def _measured_table(measured: Sequence[Measured]) -> str:
    head = ("hop", "CPU µs/call", "from", "to", "calls/s", "p50 µs", "p99 µs", "wrong")
    return table(head, (_row(one) for one in measured))


def _row(one: Measured) -> tuple[str, ...]:
    each = sorted(sample.cpu_per_call * _MICRO for sample in one.samples)
    return (
        one.hop + _work(one),
        f"{one.median(lambda s: s.cpu_per_call) * _MICRO:,.1f}",
        f"{each[0]:,.1f}",
        f"{each[-1]:,.1f}",
        f"{one.median(lambda s: s.rate):,.0f}",
        f"{one.median(lambda s: s.p50) * _MICRO:,.0f}",
        f"{one.median(lambda s: s.p99) * _MICRO:,.0f}",
        str(one.wrong),
    )


def _work(one: Measured) -> str:
    """What is special in its work."""
    errand = one.errand
    special = [
        "execute_tool" if errand.via == "execute_tool" else "",
        "SSE backend" if errand.answers == "sse" else "",
        "stdio backend" if errand.backend == "stdio" else "",
    ]
    said = ", ".join(word for word in special if word)
    return f" ({said})" if said else ""


def write_findings(findings: Sequence[Finding]) -> str:
    rows = [
        (
            finding.target.id,
            finding.target.what + (f" ({finding.case})" if finding.case else ""),
            "–" if finding.value is None else _amount(finding.value, finding.target.unit),
            _amount(finding.target.must, finding.target.unit),
            _amount(finding.target.aim, finding.target.unit),
            _WORDS[judge(finding)],
        )
        for finding in findings
    ]
    return table(("id", "what", "found", "must", "aim", ""), rows)


def _amount(value: float, unit: str) -> str:
    if unit == "KiB":
        return f"{value:.1f} KiB"
    return f"{value:.2f}" if value >= 0.1 else f"1/{1 / value:.0f}" if value > 0 else f"{value:.2f}"


def machine() -> str:
    """What it ran on. Other work may share it, which no figure here can know."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    system = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} cores, {system}, Python {platform.python_version()}, load {load}"


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything, each round of it."""
    return {
        "machine": machine(),
        "parts": [_part(outcome) for outcome in outcomes],
        "findings": [
            {**dataclasses.asdict(finding), "verdict": judge(finding)} for o in outcomes for finding in o.findings
        ],
    }


def _part(outcome: Outcome) -> dict[str, Any]:
    return {
        "title": outcome.title,
        "hops": [
            {"hop": m.hop, "errand": dataclasses.asdict(m.errand), "rounds": [_round(s) for s in m.samples]}
            for m in outcome.measured
        ],
        "missing": [dataclasses.asdict(gap) for gap in outcome.missing],
        "idle": None if outcome.idle is None else dataclasses.asdict(outcome.idle),
        "compared": None if outcome.compared is None else dataclasses.asdict(outcome.compared),
    }


def _round(sample: Sample) -> dict[str, Any]:
    return dataclasses.asdict(sample)
