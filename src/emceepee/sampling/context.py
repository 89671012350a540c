"""What a server may be told of itself or others through `includeContext`, added to the system prompt. Mostly pure.

The operator's `disclose` is the most that any server gets, whatever it asks for; `none` is the default, and then the
request goes on as if nothing had been asked for.

The one rule: what is added is added before approval, so that whoever approves sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from emceepee.sampling.content import Json
from emceepee.sampling.settings import Disclosure
from emceepee.vocabulary.names import Scope, ServerName

_ORDER: tuple[Disclosure, ...] = ("none", "thisServer", "allServers")
_CUT = "\n[cut]"


@dataclass(slots=True, frozen=True)
class ServerContext:
    server: ServerName
    text: str


class ContextSource(Protocol):
    async def context(self, scope: Scope, server: ServerName | None) -> Sequence[ServerContext]:
        """Of one server, or of all that this scope has (None)."""
        ...


class NoContext:
    """Implements `ContextSource` where there is none."""

    async def context(self, scope: Scope, server: ServerName | None) -> Sequence[ServerContext]:
        return ()


def granted(asked: str | None, disclose: Disclosure) -> Disclosure:
    """The smaller of what is asked for and what may be disclosed."""
    wanted = next((one for one in _ORDER if one == asked), "none")
    return _ORDER[min(_ORDER.index(wanted), _ORDER.index(disclose))]


def with_context(params: Json, pieces: Sequence[ServerContext], most: int) -> Json:
    """A copy with the pieces behind the system prompt, together at most so many characters."""
    parts = [f"Context of the server '{piece.server}':\n{piece.text.strip()}" for piece in pieces if piece.text.strip()]
    if not parts:
        return params
    added = "\n\n".join(parts)
    if len(added) > most:
        added = added[: max(0, most - len(_CUT))] + _CUT
    own = params.get("systemPrompt")
    return {**params, "systemPrompt": f"{own}\n\n{added}" if own else added}
