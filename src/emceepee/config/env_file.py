"""The text of an `envFile`: one `NAME=value` per line, as editors and shells have them.

It expands nothing and reads no file. The one rule: a line it does not understand is named by number, never repeated.
"""

from __future__ import annotations

import re

_line = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)\Z")
_quoted = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')[ \t]*(?:#.*)?\Z""")
_escape = re.compile(r"\\(.)")


def read_env_file(text: str) -> tuple[dict[str, str], list[int]]:
    """The variables, and the numbers of the lines that are none."""
    variables: dict[str, str] = {}
    strange: list[int] = []
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _line.match(stripped)
        if match is None:
            strange.append(number)
        else:
            variables[match.group(1)] = _value(match.group(2))
    return variables, strange


def _value(text: str) -> str:
    quoted = _quoted.match(text)
    if quoted is None:
        return text.partition(" #")[0].rstrip()
    double, single = quoted.groups()
    return single if double is None else _escape.sub(lambda match: {"n": "\n"}.get(match[1], match[1]), double)
