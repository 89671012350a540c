"""`make bench`: arguments to one run, its report on standard output.

    make bench ARGS="--only T1,T4 --quick --json figures.json"

It ends with 0 when every target that was measured is reached and every answer was right, with 1 when not, and with 2
when something could not be measured at all. The one rule: progress goes to standard error, the report to output.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from bench.comparisons import Pace
from bench.connection import WrongAnswer
from bench.hops import EMCEEPEE, Street
from bench.measures import ERAS, Outcome, Plan, run_all
from bench.processes import CannotMeasure, allow_many_files
from bench.report import as_json, machine, write_findings, write_outcome
from bench.targets import IDS, has_missed, read_ids

_USUAL = Pace(rounds=12, seconds=0.6)
_QUICK = Pace(rounds=4, seconds=0.4)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description="What emceepee costs, side by side with others.")
    parser.add_argument("--only", metavar="T1,T4", default=",".join(IDS), help=f"some of {', '.join(IDS)}")
    parser.add_argument("--era", choices=ERAS, help="calls of one era only")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: for a look, not for figures")
    parser.add_argument("--rounds", type=int, help=f"default {_USUAL.rounds}")
    parser.add_argument("--seconds", type=float, help=f"of each turn; default {_USUAL.seconds}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every round, for tools")
    found = parser.parse_args()
    try:
        found.only = read_ids(found.only)
    except ValueError as error:
        parser.error(str(error))
    return found


def _plan(found: argparse.Namespace) -> Plan:
    usual = _QUICK if found.quick else _USUAL
    pace = Pace(found.rounds or usual.rounds, found.seconds or usual.seconds)
    return Plan(found.only, pace, found.quick, (found.era,) if found.era else ERAS)


def _measure(plan: Plan) -> list[Outcome]:
    """Runs it and prints each part as soon as it is there."""
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="emceepee-bench-") as home:
        street = Street(Path(home))
        try:
            for outcome in run_all(street, plan):
                print(write_outcome(outcome), flush=True)
                outcomes.append(outcome)
        finally:
            street.close()
    return outcomes


def main() -> int:
    found = _arguments()
    if not Path(EMCEEPEE).exists():
        print(f"{EMCEEPEE} is not there: run `make bench`, which installs it", file=sys.stderr)
        return 2
    allow_many_files()
    plan = _plan(found)
    print(f"{time.strftime('%Y-%m-%d %H:%M')}; {machine()}")
    print(f"{plan.pace.rounds} rounds of {plan.pace.seconds} s a hop\n", flush=True)
    try:
        outcomes = _measure(plan)
    except (CannotMeasure, WrongAnswer) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    print("## Targets\n")
    print(write_findings(findings))
    wrong = sum(one.wrong for outcome in outcomes for one in outcome.measured)
    print(f"\nwrong or missing answers: {wrong}")
    if found.json:
        found.json.write_text(json.dumps(as_json(outcomes), indent=1))
    return 1 if wrong or has_missed(findings) else 0


if __name__ == "__main__":
    sys.exit(main())
