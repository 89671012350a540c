"""What one of our own tools is made of: its name, what it takes, what it says of itself, and who does it.

The one rule: a tool is declared once; the schema that clients see and the check of what they send come from the same
parameters, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from emceepee.relay.surface import OnNotice
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.tasks import GoesOn

if TYPE_CHECKING:
    from emceepee.meta_tools.desk import Desk

WORKSPACE = "workspace"
"""Taken by every tool and shown by none: where the call belongs. Showing it would cost each tool a dozen tokens."""

Kind: TypeAlias = Literal[
    "string", "integer", "number", "boolean", "strings", "string_map", "object", "objects", "text_or_object"
]

_SCHEMAS: dict[Kind, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "string_map": {"type": "object", "additionalProperties": {"type": "string"}},
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "text_or_object": {"type": ["string", "object"]},
}


@dataclass(slots=True, frozen=True)
class Param:
    """One argument. Of kind `object` or `text_or_object` it stays raw, because it belongs to somebody else."""

    kind: Kind
    says: str = ""
    required: bool = False
    among: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    aliases: tuple[str, ...] = ()

    @property
    def bounded(self) -> bool:
        return bool(self.among) or self.least is not None or self.most is not None

    def schema(self) -> dict[str, Any]:
        schema = dict(_SCHEMAS[self.kind])
        if self.says:
            schema["description"] = self.says
        if self.among:
            schema["enum"] = list(self.among)
        if self.least is not None:
            schema["minimum"] = self.least
        if self.most is not None:
            schema["maximum"] = self.most
        return schema


Arguments: TypeAlias = dict[str, Any]
"""By name, checked; what was not given is absent."""


@dataclass(slots=True, frozen=True)
class Asked:
    """One call of one of our tools, as its handler gets it."""

    arguments: Arguments
    call: Call
    on_notice: OnNotice | None

    @property
    def scope(self) -> str:
        return self.call.caller.scope


Handler: TypeAlias = Callable[["Desk", Asked], Awaitable[Done | GoesOn]]


@dataclass(slots=True, frozen=True)
class Tool:
    name: str
    says: str
    handler: Handler
    params: Mapping[str, Param] = field(default_factory=dict)
    reads_only: bool = False
    destroys: bool = False
    idempotent: bool = False
    reaches_out: bool = True
    tells_all: bool = False
    """Its own answer holds what other answers carry beside their result."""
    core: bool = False
    """Whether the short list has it too: what calling a tool to its end cannot do without."""
    may_go_on: bool = False
    """A client may have it run as a task."""
    output: Mapping[str, Any] | None = None
    """The schema of its structured result, where it has one."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Every spelling that is taken, to the parameter's name. Filled by `make_tool`."""
    required: tuple[str, ...] = ()

    def entry(self) -> dict[str, Any]:
        """As `tools/list` shows it."""
        schema: dict[str, Any] = {"type": "object"}
        schema["properties"] = {name: param.schema() for name, param in self.params.items()}
        if self.required:
            schema["required"] = list(self.required)
        annotations: dict[str, Any] = {"readOnlyHint": self.reads_only}
        if not self.reads_only:
            annotations |= {"destructiveHint": self.destroys, "idempotentHint": self.idempotent}
        annotations["openWorldHint"] = self.reaches_out
        entry = {"name": self.name, "description": self.says, "inputSchema": schema, "annotations": annotations}
        if self.output is not None:
            entry["outputSchema"] = dict(self.output)
        return entry | {"execution": {"taskSupport": "optional"}} if self.may_go_on else entry


def make_tool(name: str, says: str, handler: Handler, params: Mapping[str, Param], **hints: Any) -> Tool:
    """A tool that also takes its parameters in camelCase and by their aliases."""
    names = {WORKSPACE: WORKSPACE}
    for own, param in params.items():
        for spelling in (own, camel_case(own), *param.aliases):
            names[spelling] = own
    required = tuple(own for own, param in params.items() if param.required)
    return Tool(name, says, handler, params, names=names, required=required, **hints)


def camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
