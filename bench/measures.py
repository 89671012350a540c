"""What is measured for each target, and the findings that follow.

It measures through `comparisons`, `idle` and `starting`, and gives back what was measured with what was found. The one
rule: the figures of one finding come from the same rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from bench import targets
from bench.asking import measure_asked
from bench.comparisons import Comparison, Pace
from bench.events import Size, measure_events
from bench.figures import Measured, Quantity, added_ratio, cpu_per_call, median_latency, ratio, tail
from bench.hops import SURFACES, Missing, Street
from bench.idle import WARM_UP, Idle, measure_idle
from bench.starting import Compared, measure_hello, measure_start
from bench.targets import Finding, Target
from bench.wire import Era, Errand

ERAS: tuple[Era, ...] = ("legacy", "modern")
OURS, META = "emceepee /servers", "emceepee /mcp"
KIBI = 1024


@dataclass(slots=True)
class Outcome:
    """One part of the run, for the report."""

    title: str
    measured: Sequence[Measured] = ()
    findings: list[Finding] = field(default_factory=list)
    missing: Sequence[Missing] = ()
    idle: Idle | None = None
    compared: Compared | None = None


@dataclass(slots=True, frozen=True)
class Plan:
    """What of it all is wanted, and for how long each."""

    only: frozenset[str]
    pace: Pace
    quick: bool = False
    eras: tuple[Era, ...] = ERAS

    def wants(self, *ids: str) -> bool:
        return not self.only.isdisjoint(ids)


def run_all(street: Street, plan: Plan) -> Iterator[Outcome]:
    """One part after another, as each is done."""
    parts: list[tuple[tuple[str, ...], Callable[[Street, Plan, Era], Outcome]]] = [
        (("T1", "T2", "T3", "T6"), _calls),
        (("T4",), _alone),
        (("T13",), _crowd),
        (("T5",), _big),
    ]
    for ids, part in parts:
        if plan.wants(*ids):
            yield from map(partial(part, street, plan), plan.eras)
    if plan.wants("T7"):
        yield from (_idle(street, plan, target) for target in (targets.IDLE, targets.IDLE_STREAM))
    if plan.wants("T8"):
        yield from (_connected(street, plan, *case) for case in (("", "/legacy"), (", open streams", "/legacy-get")))
    if plan.wants("T9"):
        yield from (_hello(street, plan, path) for path in ("/mcp", "/direct/mcp"))
    if plan.wants("T10"):
        yield from _events(plan)
    if plan.wants("T11"):
        yield _asked(street, plan)
    if plan.wants("T12"):
        yield _start(street, plan)


def _calls(street: Street, plan: Plan, era: Era) -> Outcome:
    errand = Errand(era)
    comparison = Comparison(street, errand).direct()
    if plan.wants("T1"):
        comparison.nginx().fastmcp()
    wanted = tuple(SURFACES) if plan.wants("T1") else (OURS, META) if plan.wants("T2") else (OURS,)
    comparison.emceepee(wanted)
    if plan.wants("T3"):
        comparison.also(Comparison(street, Errand(era, answers="sse")).emceepee((OURS,)))
    if plan.wants("T6"):
        comparison.also(Comparison(street, Errand(era, backend="stdio")).emceepee((OURS,)))
    measured = comparison.measure(plan.pace)
    find = Finder(measured)
    ours = find(OURS, answers="json", backend="http")
    found = [
        ("T1", _over(targets.NGINX, era, ours, find("nginx"), cpu_per_call)),
        ("T1", _over(targets.FASTMCP, era, ours, find("fastmcp"), cpu_per_call)),
        ("T2", _over(targets.META, era, find(META), ours, cpu_per_call, "via")),
        ("T3", _over(targets.STREAMED, era, find(OURS, answers="sse"), ours, cpu_per_call, "answers")),
        ("T6", _over(targets.PIPED, era, find(OURS, backend="stdio"), ours, cpu_per_call, "backend")),
    ]
    findings = [finding for id_, finding in found if plan.wants(id_)]
    return Outcome(f"calls of echo, {errand.sessions} sessions, {era}", measured, findings, comparison.missing)


def _alone(street: Street, plan: Plan, era: Era) -> Outcome:
    comparison = Comparison(street, Errand(era, sessions=1)).direct().nginx().emceepee((OURS,))
    measured = comparison.measure(plan.pace, apart=True)
    find = Finder(measured)
    direct, nginx, ours = find("direct"), find("nginx"), find(OURS)
    value = added_ratio(ours, nginx, direct, median_latency) if direct and nginx and ours else None
    finding = Finding(targets.ALONE, era, value)
    return Outcome(f"one session, one call after another, {era}", measured, [finding], comparison.missing)


def _crowd(street: Street, plan: Plan, era: Era) -> Outcome:
    comparison = Comparison(street, Errand(era, sessions=256)).direct().nginx().emceepee((OURS,))
    measured = comparison.measure(plan.pace)
    find = Finder(measured)
    finding = _over(targets.CROWD, era, find(OURS), find("nginx"), tail)
    return Outcome(f"256 sessions at once, {era}", measured, [finding], comparison.missing)


def _big(street: Street, plan: Plan, era: Era) -> Outcome:
    comparison = Comparison(street, Errand(era, "big", sessions=4)).direct().nginx().haproxy().emceepee((OURS,))
    measured = comparison.measure(plan.pace)
    find = Finder(measured)
    finding = _over(targets.BIG, era, find(OURS), find("haproxy"), cpu_per_call)
    return Outcome(f"results of 1 MiB, 4 sessions, {era}", measured, [finding], comparison.missing)


def _idle(street: Street, plan: Plan, target: Target) -> Outcome:
    numbers = (500,) if plan.quick else (1_000, 2_000)
    idle = measure_idle(street, numbers, streams=target is targets.IDLE_STREAM)
    finding = Finding(target, f"{numbers[-1]:,} sessions", idle.grown[numbers[-1]] / KIBI)
    return Outcome(target.what, findings=[finding], idle=idle)


def _connected(street: Street, plan: Plan, what: str, path: str) -> Outcome:
    """With servers that have no stream for what they say unasked, and with such as have one."""
    # Those that came before count as well: a thousand with two servers each are what a gateway takes by default.
    number = (300 if plan.quick else 1_000) - WARM_UP
    idle = measure_idle(street, (number,), streams=False, servers=2, path=path)
    finding = Finding(targets.CONNECTED, f"{number + WARM_UP:,} workspaces{what}", idle.grown[number] / KIBI)
    return Outcome(targets.CONNECTED.what + what, findings=[finding], idle=idle)


def _events(plan: Plan) -> Iterator[Outcome]:
    for found in measure_events(Size(events=100) if plan.quick else Size()):
        finding = Finding(targets.EVENTS, found.what, found.compared.ratio)
        yield Outcome(f"an event {found.what}", findings=[finding], compared=found.compared)


def _asked(street: Street, plan: Plan) -> Outcome:
    compared = measure_asked(street, plan.pace.rounds, 10 if plan.quick else 25)
    return Outcome("a server's question", findings=[Finding(targets.ASKED, "", compared.ratio)], compared=compared)


def _hello(street: Street, plan: Plan, path: str) -> Outcome:
    compared = measure_hello(street, path, plan.pace.rounds, 40 if plan.quick else 100)
    return Outcome(f"initialize at {path}", findings=[Finding(targets.HELLO, path, compared.ratio)], compared=compared)


def _start(street: Street, plan: Plan) -> Outcome:
    compared = measure_start(street, 3 if plan.quick else 7)
    return Outcome("start on stdio", findings=[Finding(targets.START, "", compared.ratio)], compared=compared)


def _over(
    target: Target, case: str, one: Measured | None, other: Measured | None, what: Quantity, but: str = ""
) -> Finding:
    """What the one has over the other; nothing when one of them could not be measured."""
    if one is None or other is None:
        return Finding(target, case, None)
    return Finding(target, case, ratio(one, other, what, frozenset((but,)) if but else frozenset()))


class Finder:
    """Looks up what was measured, by hop and by how its work differs; None when it was left out."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        self._measured = measured

    def __call__(self, hop: str, **work: object) -> Measured | None:
        for one in self._measured:
            if one.hop == hop and all(getattr(one.errand, name) == value for name, value in work.items()):
                return one
        return None
