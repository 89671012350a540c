"""A sampling request as a Python author builds it and as the wire has it: messages, preferences, limits.

The one rule: what is written is a request that any revision takes: `maxTokens` is always there, and what is unset is
left out, never null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from emceepee.sampling.content import Content, Json, TextContent, read_contents, write_contents, written

Role: TypeAlias = Literal["user", "assistant"]
IncludeContext: TypeAlias = Literal["none", "thisServer", "allServers"]

METHOD = "sampling/createMessage"
DEFAULT_MAX_TOKENS = 500
MAX_TEMPERATURE = 2.0
"""Of the builder. Who answers may have a narrower limit (`validation`)."""


@dataclass(slots=True, frozen=True)
class SamplingMessage:
    role: Role
    content: Content | Sequence[Content]
    rest: Json = field(default_factory=dict, repr=False)

    @classmethod
    def user(cls, text: str) -> SamplingMessage:
        return cls("user", TextContent(text))

    @classmethod
    def assistant(cls, text: str) -> SamplingMessage:
        return cls("assistant", TextContent(text))

    def to_json(self) -> Json:
        return written({"role": self.role, "content": write_contents(self.content)}, self.rest)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> SamplingMessage:
        rest = dict(given)
        return cls(rest.pop("role"), read_contents(rest.pop("content")), rest)


@dataclass(slots=True, frozen=True)
class ModelHint:
    """Part of a model's name."""

    name: str | None = None
    rest: Json = field(default_factory=dict, repr=False)

    @classmethod
    def new(cls, name: str) -> ModelHint:
        return cls(name)

    def to_json(self) -> Json:
        return written({"name": self.name}, self.rest)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> ModelHint:
        rest = dict(given)
        return cls(rest.pop("name", None), rest)


@dataclass(slots=True, frozen=True)
class ModelPreferences:
    """Advice for the choice of a model: hints in their order, and what matters, each from 0 to 1."""

    hints: Sequence[ModelHint] | None = None
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None
    rest: Json = field(default_factory=dict, repr=False)

    def to_json(self) -> Json:
        known = {
            "hints": None if self.hints is None else [hint.to_json() for hint in self.hints],
            "costPriority": self.cost_priority,
            "speedPriority": self.speed_priority,
            "intelligencePriority": self.intelligence_priority,
        }
        return written(known, self.rest)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> ModelPreferences:
        rest = dict(given)
        hints = rest.pop("hints", None)
        return cls(
            None if hints is None else tuple(ModelHint.from_json(hint) for hint in hints),
            rest.pop("costPriority", None),
            rest.pop("speedPriority", None),
            rest.pop("intelligencePriority", None),
            rest,
        )


@dataclass(slots=True, frozen=True, kw_only=True)
class SamplingRequest:
    """Raises `ValueError` where it is built wrongly, because that is a mistake in the program that builds it."""

    messages: Sequence[SamplingMessage]
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: IncludeContext | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    """`DEFAULT_MAX_TOKENS` on the wire if not given."""
    stop_sequences: Sequence[str] | None = None
    metadata: Json | None = None
    tools: Sequence[Json] | None = None
    tool_choice: Json | None = None
    rest: Json = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0.0 <= self.temperature <= MAX_TEMPERATURE:
            raise ValueError(f"temperature is {self.temperature}; it must be from 0.0 to {MAX_TEMPERATURE}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}; it must be at least 1")

    def to_json(self) -> Json:
        preferences = self.model_preferences
        known = {
            "messages": [message.to_json() for message in self.messages],
            "modelPreferences": None if preferences is None else preferences.to_json(),
            "systemPrompt": self.system_prompt,
            "includeContext": self.include_context,
            "temperature": self.temperature,
            "maxTokens": DEFAULT_MAX_TOKENS if self.max_tokens is None else self.max_tokens,
            "stopSequences": None if self.stop_sequences is None else list(self.stop_sequences),
            "metadata": self.metadata,
            "tools": None if self.tools is None else list(self.tools),
            "toolChoice": self.tool_choice,
        }
        return written(known, self.rest)

    @classmethod
    def from_json(cls, params: Mapping[str, Any]) -> SamplingRequest:
        """Params that `validation` has passed."""
        rest = dict(params)
        preferences, stops, tools = (rest.pop(key, None) for key in ("modelPreferences", "stopSequences", "tools"))
        return cls(
            messages=tuple(SamplingMessage.from_json(message) for message in rest.pop("messages")),
            model_preferences=None if preferences is None else ModelPreferences.from_json(preferences),
            system_prompt=rest.pop("systemPrompt", None),
            include_context=rest.pop("includeContext", None),
            temperature=rest.pop("temperature", None),
            max_tokens=rest.pop("maxTokens", None),
            stop_sequences=None if stops is None else tuple(stops),
            metadata=rest.pop("metadata", None),
            tools=None if tools is None else tuple(tools),
            tool_choice=rest.pop("toolChoice", None),
            rest=rest,
        )
