"""What a tool is given besides its arguments: whom it can ask, and what it can tell meanwhile.

`sampler`, `elicitor` and `roots` are None where the client cannot be asked, so that a tool can look before it asks; a
tool that asks nevertheless gets `NotSupported`, and nothing is sent.

The one rule: a context is valid while its call runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from emceepee.sampling.request import DEFAULT_MAX_TOKENS, SamplingMessage, SamplingRequest
from emceepee.sampling.response import SamplingResponse, UnexpectedContent
from emceepee.tools import faults
from emceepee.tools.clients import ElicitationClient, Elicited, RootsClient, SamplingClient
from emceepee.vocabulary.names import LogLevel

ProgressToken: TypeAlias = str | int
ProgressSender: TypeAlias = Callable[[float, float | None, str | None], None]
"""How far, of how much, and in words."""

LogSender: TypeAlias = Callable[[LogLevel, Any], None]


@dataclass(slots=True, frozen=True)
class Sampler:
    """The client's model, for quick questions: each stands alone, and the model has no tools."""

    client: SamplingClient

    async def ask(self, question: str, max_tokens: int = DEFAULT_MAX_TOKENS, timeout: float | None = None) -> str:
        """The answer's text. Raises `AskFailed`; an answer without any text is `Malformed`."""
        request = SamplingRequest(messages=[SamplingMessage.user(question)], max_tokens=max_tokens)
        try:
            return (await self.sample(request, timeout)).as_text()
        except UnexpectedContent as unexpected:
            raise faults.Malformed(str(unexpected)) from None

    async def sample(self, request: SamplingRequest, timeout: float | None = None) -> SamplingResponse:
        """Full control, and the whole answer. Raises `AskFailed`."""
        return await self.client.sample(request, timeout)


@dataclass(slots=True, frozen=True)
class Elicitor:
    """The person behind the client."""

    client: ElicitationClient

    async def ask(self, message: str, properties: dict[str, Any], timeout: float | None = None) -> Elicited:
        """One form; all of its fields have to be filled in. Raises `AskFailed`."""
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        return await self.client.elicit(message, schema, timeout)

    async def elicit(self, message: str, schema: dict[str, Any], timeout: float | None = None) -> Elicited:
        return await self.client.elicit(message, schema, timeout)


@dataclass(slots=True, frozen=True)
class Log:
    """Lines for the client's log, as far as it wants to hear that level."""

    send: LogSender

    def debug(self, data: Any) -> None:
        self.send("debug", data)

    def info(self, data: Any) -> None:
        self.send("info", data)

    def warning(self, data: Any) -> None:
        self.send("warning", data)

    def error(self, data: Any) -> None:
        self.send("error", data)


@dataclass(slots=True, frozen=True)
class ToolContext:
    session_id: str
    """Names the connection this call came on; grants nothing."""
    log: Log
    progress_token: ProgressToken | None = None
    progress_sender: ProgressSender | None = None
    sampler: Sampler | None = None
    elicitor: Elicitor | None = None
    roots: RootsClient | None = None

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Does nothing where nobody wants to hear it."""
        if self.progress_sender is not None:
            self.progress_sender(done, total, message)
