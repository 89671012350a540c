"""What a local server can ask its client, one class for each kind: sampling, elicitation, roots.

The one rule: nothing is sent to a client that did not declare it; that is checked here, whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from msgspec import Raw

from emceepee.sampling.content import Json
from emceepee.sampling.request import METHOD as SAMPLE
from emceepee.sampling.request import SamplingRequest
from emceepee.sampling.response import MalformedAnswer, SamplingResponse, read_response
from emceepee.tools import faults
from emceepee.tools.abilities import ClientAbilities
from emceepee.tools.outgoing import Outgoing, Say
from emceepee.vocabulary.raw_json import NotThatShape, read_value

SAMPLING_SECONDS = 60.0
ELICITATION_SECONDS = 600.0
ROOTS_SECONDS = 10.0

Action: TypeAlias = Literal["accept", "decline", "cancel"]


@dataclass(slots=True, frozen=True)
class Line:
    """The way to one client, for the length of one call."""

    outgoing: Outgoing
    say: Say
    abilities: Callable[[], ClientAbilities]
    """Asked at the time of each question: what was true when the call began need not be true now."""

    async def ask(self, method: str, params: Any, seconds: float) -> Raw:
        return await self.outgoing.ask(method, params, self.say, seconds)

    def ready(self, method: str) -> ClientAbilities:
        abilities = self.abilities()
        if not abilities.ready:
            raise faults.ChannelClosed(f"{method} cannot be asked before the client has said that it is initialized")
        return abilities


class SamplingClient:
    """Asks the client's model."""

    def __init__(self, line: Line, timeout: float = SAMPLING_SECONDS) -> None:
        self._line = line
        self._timeout = timeout

    async def sample(self, request: SamplingRequest, timeout: float | None = None) -> SamplingResponse:
        """Raises `AskFailed`; `timeout` is in seconds."""
        abilities = self._line.ready(SAMPLE)
        params = _sendable(request, abilities)
        raw = await self._line.ask(SAMPLE, params, self._timeout if timeout is None else timeout)
        try:
            return read_response(_read(raw))
        except MalformedAnswer as malformed:
            raise faults.Malformed(f"The answer to {SAMPLE} cannot be used: {malformed}") from None


def _sendable(request: SamplingRequest, abilities: ClientAbilities) -> Json:
    if not abilities.supports_sampling:
        raise faults.NotSupported("The client cannot sample: it did not declare the capability 'sampling'")
    if request.tools and not abilities.supports_sampling_tools:
        raise faults.NotSupported("The client takes no tools in sampling: it did not declare 'sampling.tools'")
    params = request.to_json()
    if not abilities.supports_sampling_context:
        params.pop("includeContext", None)
    return params


@dataclass(slots=True, frozen=True)
class Elicited:
    """A person's answer; `content` is there when they accepted."""

    action: Action
    content: Mapping[str, Any] | None = None

    @property
    def accepted(self) -> bool:
        return self.action == "accept"


class ElicitationClient:
    """Asks the person behind the client."""

    def __init__(self, line: Line, timeout: float = ELICITATION_SECONDS) -> None:
        self._line = line
        self._timeout = timeout

    async def elicit(self, message: str, schema: Json, timeout: float | None = None) -> Elicited:
        """`schema` is an object of strings, numbers, booleans and choices. Raises `AskFailed`."""
        method = "elicitation/create"
        if not self._line.ready(method).supports_elicitation:
            raise faults.NotSupported("The client's person cannot be asked: it did not declare 'elicitation'")
        params = {"message": message, "requestedSchema": schema}
        answer = _read(await self._line.ask(method, params, self._timeout if timeout is None else timeout))
        action = answer.get("action") if isinstance(answer, dict) else None
        if action not in ("accept", "decline", "cancel"):
            raise faults.Malformed(f"The answer to {method} has no action")
        content = answer.get("content")
        if action == "accept" and not isinstance(content, dict):
            raise faults.Malformed(f"The answer to {method} accepts without content")
        return Elicited(cast(Action, action), content if action == "accept" else None)


@dataclass(slots=True, frozen=True)
class Root:
    uri: str
    name: str | None = None


class RootsClient:
    """Asks the client which folders it works in."""

    def __init__(self, line: Line, timeout: float = ROOTS_SECONDS) -> None:
        self._line = line
        self._timeout = timeout

    async def list(self) -> tuple[Root, ...]:
        """Raises `AskFailed`."""
        method = "roots/list"
        if not self._line.ready(method).supports_roots:
            raise faults.NotSupported("The client has no roots: it did not declare the capability 'roots'")
        match _read(await self._line.ask(method, {}, self._timeout)):
            case {"roots": [*roots]} if all(isinstance(one, dict) and isinstance(one.get("uri"), str) for one in roots):
                return tuple(Root(one["uri"], one.get("name")) for one in roots)
            case _:
                raise faults.Malformed(f"The answer to {method} is no list of roots")


def _read(raw: Raw) -> Any:
    try:
        return read_value(raw)
    except NotThatShape:
        return None
