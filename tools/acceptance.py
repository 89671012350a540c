"""Which acceptance ids do the tests show, and which does no test show?

    make acceptance                             every family: shown / total, and the ids no test shows
    make acceptance FAMILY="C-DISP EB-A"        these only
    make acceptance ARGS="--only C-DISP A-CFG"  the same, and fail when one id of them is missing
    make acceptance ARGS=--required             the same for tests/acceptance_required.txt
    make acceptance ARGS="--where C-DISP-04"    the tests that show an id

A test names what it shows with `@pytest.mark.shows("C-DISP-04", "EB-A12")`. The names are read from the source, so
nothing is imported and nothing runs: it says what is claimed; whether it holds, `make test` says.

The one rule: an id that is not in `tests/acceptance_ids.txt`, or that is not written out where the marker stands, is an
error; a misspelt claim must not pass for a claim.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Claims:
    """What the tests say they show: id -> the places that say it; and what is wrong with how they say it."""

    places: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def family(name: str) -> str:
    """`C-DISP-04` is of C-DISP, `EB-A12` of EB-A, `T7` of T."""
    return re.sub(r"-?\d+$", "", name)


def read_list(path: Path) -> list[str]:
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def claims_in(source: str, place: str, known: Iterable[str]) -> Claims:
    claims = Claims()
    for node in ast.walk(ast.parse(source, filename=place)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "shows"):
            continue
        for argument in node.args:
            here = f"{place}:{argument.lineno}"
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                claims.problems.append(f"{here}: write the id out, so that it can be found by searching")
            elif argument.value not in known:
                claims.problems.append(f"{here}: no such id: {argument.value}")
            else:
                claims.places.setdefault(argument.value, []).append(here)
    return claims


def collect(tests: Path, known: Iterable[str]) -> Claims:
    known, total = set(known), Claims()
    for path in sorted(tests.rglob("test_*.py")):
        place = path.relative_to(tests.parent).as_posix()
        found = claims_in(path.read_text(encoding="utf-8"), place, known)
        total.problems.extend(found.problems)
        for name, places in found.places.items():
            total.places.setdefault(name, []).extend(places)
    return total


def select(known: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """The ids that families and single ids stand for, in the order of `known`; LookupError names a stranger."""
    chosen: set[str] = set()
    for want in wanted:
        members = [name for name in known if want in (name, family(name))]
        if not members:
            raise LookupError(f"no such family or id: {want}")
        chosen.update(members)
    return [name for name in known if name in chosen]


def missing(known: Sequence[str], wanted: Iterable[str], claims: Claims) -> list[str]:
    return [name for name in select(known, wanted) if name not in claims.places]


def report(names: Sequence[str], claims: Claims) -> list[str]:
    """One line a family, and under it the ids no test shows."""
    lines = []
    for kin in dict.fromkeys(family(name) for name in names):
        members = [name for name in names if family(name) == kin]
        absent = [name for name in members if name not in claims.places]
        lines.append(f"{kin:8} {len(members) - len(absent):4} / {len(members)}")
        lines += [f"         {' '.join(absent[at : at + 8])}" for at in range(0, len(absent), 8)]
    shown = sum(name in claims.places for name in names)
    return [*lines, f"{'all':8} {shown:4} / {len(names)}"]


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make acceptance", description="Which ids does no test show?")
    parser.add_argument("families", nargs="*", help="families or ids; all when none is named")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="fail when an id of these is missing")
    parser.add_argument("--required", action="store_true", help="fail when an id that must be shown is missing")
    parser.add_argument("--where", metavar="ID", help="the tests that show this id")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    given = _arguments(argv)
    tests = ROOT / "tests"
    known = read_list(tests / "acceptance_ids.txt")
    claims = collect(tests, known)
    must = [*given.only, *(read_list(tests / "acceptance_required.txt") if given.required else [])]
    try:
        narrowed = given.families or given.only or given.required
        names = select(known, [*given.families, *must]) if narrowed else known
        absent = missing(known, must, claims)
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    lines = claims.places.get(given.where, []) if given.where else report(names, claims)
    print("\n".join(lines))
    for problem in claims.problems:
        print(problem, file=sys.stderr)
    return 1 if claims.problems or absent else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
