"""The gateway's own settings as a file gives them, under the root key `emceepee`.

The one rule: what can be set is exactly what `settings.Settings` has, under the same names (camelCase is accepted); a
name that it has not is an error with the nearest one that it has, because a misspelt safety setting must not pass.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from emceepee.config.fields import a
from emceepee.config.jsonc import Node
from emceepee.config.problems import Report
from emceepee.config.sampling_settings import read_sampling
from emceepee.config.settings import DEFAULTS, Limits, Settings, Timeouts
from emceepee.config.variables import expand
from emceepee.sampling.settings import SamplingOptions

Value: TypeAlias = bool | int | float | str | tuple[str, ...]

_CHOICES = {
    "tenant": ("auto", "local", "anon"),
    "profile": ("full", "core"),
    "interaction": ("auto", "native", "meta"),
    "log_level": ("debug", "info", "warn", "error"),
    "log_format": ("auto", "json", "text"),
    "state": ("auto", "on", "off"),
}
_SYNONYMS = {"warning": "warn"}

LEAST_KEY = 32
"""Characters of a key: fewer could be found by trying."""


def read_settings(node: Node, where: str, report: Report, environment: Mapping[str, str]) -> dict[str, Any]:
    """Name (`port`, `timeouts.execute`) to value, for those that are given and right."""
    return _Group("", DEFAULTS, report, environment).read(node, where)


def build_settings(values: Mapping[str, Any], start: Settings = DEFAULTS) -> Settings:
    """The tree with some leaves replaced."""
    flat = {name: value for name, value in values.items() if "." not in name}
    return dataclasses.replace(
        start,
        timeouts=dataclasses.replace(start.timeouts, **_below("timeouts.", values)),
        limits=dataclasses.replace(start.limits, **_below("limits.", values)),
        **flat,
    )


def _below(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


@dataclasses.dataclass(slots=True, frozen=True)
class _Group:
    """One level of the tree being read: the settings it has, and how they are called from the root."""

    prefix: str
    defaults: Settings | Timeouts | Limits
    report: Report
    environment: Mapping[str, str]

    def read(self, node: Node, where: str) -> dict[str, Any]:
        if node.kind != "object":
            self.report.error(node, where, f"this has to be a map of settings, not {a(node.kind)}")
            return {}
        known = [field.name for field in dataclasses.fields(self.defaults)]
        values: dict[str, Any] = {}
        for key, member in node.members.items():
            name, place = _snake(key), f"{where}.{key}"
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                cure = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(known)}"
                self.report.at_key(member, place, "there is no such setting", cure)
                continue
            default = getattr(self.defaults, name)
            if isinstance(default, Timeouts | Limits):
                values |= _Group(f"{name}.", default, self.report, self.environment).read(member, place)
            elif isinstance(default, SamplingOptions):
                sampling = read_sampling(member, place, self.report, self.environment)
                values |= {} if sampling is None else {name: sampling}
            elif (value := self._value(member, place, name, default)) is not None:
                values[self.prefix + name] = value
        return values

    def _value(self, node: Node, where: str, name: str, default: object) -> Value | None:
        """One setting, of its default's type, or None after its mistake has been reported."""
        texts = [node] if node.kind == "string" else [item for item in node.items if item.kind == "string"]
        expanded = [expand(text.value, self.environment) for text in texts]
        complaints = [complaint for _, found in expanded for complaint in found]
        for what, cure in complaints:
            self.report.error(node, where, what, cure)
        if complaints:
            return None
        values = [value for value, _ in expanded]
        wanted, value = _convert(values[0] if node.kind == "string" else node.value, node, values, default)
        if value is None:
            self.report.error(node, where, f"this has to be {wanted}, not {a(node.kind)}")
            return None
        if isinstance(value, str) and name in _CHOICES:
            value = _SYNONYMS.get(value.lower(), value.lower())
        if problem := _unfit(name, value):
            self.report.error(node, where, problem)
            return None
        return value


def _convert(value: Any, node: Node, texts: list[str], default: object) -> tuple[str, Value | None]:
    """What was wanted, in words, and the value as that. A text is read as a number, since variables give only texts.
    `texts` are those of a list."""
    match default:
        case bool():
            word = {"true": True, "false": False}.get(value) if isinstance(value, str) else None
            return "true or false", value if isinstance(value, bool) else word
        case int():
            return "a whole number", _number(value, int)
        case float():
            return "a number of seconds", _number(value, float)
        case tuple():
            return "a list of texts", tuple(texts) if node.kind == "array" and len(texts) == len(node.items) else None
        case _:
            return "a text", value if isinstance(value, str) and value else None


def _number(value: Any, kind: type[int] | type[float]) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = kind(value)
    except (ValueError, OverflowError):
        return None
    return number if not isinstance(value, float) or number == value else None


def _unfit(name: str, value: Value) -> str | None:
    if name in _CHOICES:
        return None if value in _CHOICES[name] else f"this has to be one of {', '.join(_CHOICES[name])}"
    if name == "state_keys" and isinstance(value, tuple):
        short = any(len(key) < LEAST_KEY for key in value)
        return f"a key has to have at least {LEAST_KEY} characters, at random" if short else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if name == "port":
        return None if 0 <= value <= 65535 else "a port is a number from 0 to 65535"
    return None if 0 < value < 1e12 else "this has to be more than 0"


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).replace("-", "_").lower()
