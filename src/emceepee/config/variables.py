"""`${VAR}` and its relatives in configured texts, replaced from an environment that is given.

What other programs call the same is understood (`${env:VAR}`, `${userHome}`) or refused by name (`${input:…}`,
`${workspaceFolder}`): a gateway has no editor to ask and no folder open. A bare `$VAR` is text.

The one rule: nothing is guessed. A variable that is unset and has no default is a complaint, never an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_reference = re.compile(r"\$\{([^{}]*)\}")
_nested = re.compile(r"\$\{[^{}]*\$\{")
_variable = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\Z", re.DOTALL)


def expand(text: str, environment: Mapping[str, str]) -> tuple[str, list[tuple[str, str]]]:
    """The text with its references replaced, and a complaint with a cure for each that cannot be."""
    complaints: list[tuple[str, str]] = []
    if _nested.search(text):
        return text, [("one ${…} stands inside another", "give the default as plain text")]

    def replace(match: re.Match[str]) -> str:
        value, complaint = _resolve(match.group(1), environment)
        if complaint:
            complaints.append(complaint)
        return match.group() if value is None else value

    return (_reference.sub(replace, text) if "${" in text else text), complaints


def _resolve(inside: str, environment: Mapping[str, str]) -> tuple[str | None, tuple[str, str] | None]:
    variable = _variable.match(inside)
    if inside == "userHome":
        variable = _variable.match("HOME" if "HOME" in environment else "USERPROFILE")
    if inside.startswith("input:"):
        cure = f"a gateway cannot ask; put it in the environment and write ${{{_suggestion(inside[6:])}}}"
        return None, (f"'${{{inside}}}' is a question that an editor asks its user", cure)
    if inside.startswith("workspaceFolder"):
        return None, (f"'${{{inside}}}' is known to editors only", "a gateway has no folder open; write the path")
    if variable is None:
        return None, (f"'${{{inside[:60]}}}' is not understood", "write ${NAME} or ${NAME:-default}")
    name, default = variable.groups()
    value = environment.get(name)
    if default is not None:
        return (value or default), None
    if value is None:
        return None, (f"the variable {name} is not set", f"set {name}, or write ${{{name}:-default}}")
    return value, None


def _suggestion(input_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", input_id).strip("_").upper() or "NAME"
