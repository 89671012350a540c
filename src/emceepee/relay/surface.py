"""What a client finds behind a path: the meta-tools, one server, or all servers merged.

The one rule: the front talks to a `Surface` and to nothing behind it; a surface never learns which era or transport the
client came by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from msgspec import Raw

from emceepee.errors import EmceepeeError
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import LogLevel, Scope
from emceepee.vocabulary.notices import Interest, Notice
from emceepee.vocabulary.outcomes import Answered, Begun
from emceepee.vocabulary.raw_json import Fields
from emceepee.vocabulary.tasks import GoesOn

if TYPE_CHECKING:
    from emceepee.relay.task_room import TaskRoom

OnNotice: TypeAlias = Callable[[Notice], None]
OnEnd: TypeAlias = "Callable[[Answered | GoesOn | EmceepeeError], None]"
"""How a call ended that was only begun. It must not raise."""
"""Takes a notice at once and never blocks; whoever is slow behind it has its own bounded buffer."""


@dataclass(slots=True, frozen=True)
class Description:
    """What a surface says of itself to a client that arrives: capabilities in the words of the newest legacy revision
    (each era's adapter narrows them), and instructions for the model."""

    capabilities: Fields = field(default_factory=dict)
    instructions: str | None = None


class Unknown:
    """What cannot be said without asking somebody."""


UNKNOWN: Final = Unknown()


class Listener(Protocol):
    """One client's standing wish for unasked notices."""

    @property
    def honoured(self) -> Interest:
        """What can really be delivered of what was wished."""
        ...

    async def change(self, interest: Interest) -> None:
        """Replace the wish. Raises `errors.ClientFault` when a newly wished resource is refused."""
        ...

    async def close(self) -> None: ...


class Surface(Protocol):
    @property
    def name(self) -> str: ...

    async def describe(self, caller: Caller) -> Description:
        """Never waits longer for a backend than the listing budget."""
        ...

    @property
    def tasks(self) -> TaskRoom: ...

    async def carry(self, call: Call, on_notice: OnNotice | None) -> Answered | GoesOn:
        """One request to its end, or until it goes on as a task. Cancelling the awaiting task cancels the call at the
        backend. Raises `errors.EmceepeeError` where no backend answered."""
        ...

    def repeatable(self, call: Call) -> bool:
        """Whether making this call twice is known to do no more than making it once."""
        ...

    def begin(self, call: Call, on_notice: OnNotice | None, ended: OnEnd) -> Begun | None:
        """`carry` without waiting: `ended` is told once, perhaps before this returns, and not after it was abandoned.
        None where something would have to be waited for before the server can be asked, or where anything is out of
        the ordinary: then nothing was done, and `carry` is for that."""
        ...

    async def listen(self, caller: Caller, interest: Interest, on_notice: OnNotice) -> Listener:
        """From now on `on_notice` gets what `interest` names, and log lines that belong to no call. `caller.scope`
        decides whose connections are meant."""
        ...

    async def set_log_level(self, caller: Caller, level: LogLevel) -> None: ...

    async def roots_changed(self, caller: Caller) -> None:
        """The client has other roots now."""
        ...

    def schema_at_hand(self, caller: Caller, tool: str) -> Raw | Unknown | None:
        """What `input_schema` would say without asking anybody."""
        ...

    async def input_schema(self, caller: Caller, tool: str) -> Raw | None:
        """The input schema of a tool as this surface lists it, or None when it lists no such tool (or cannot know)."""
        ...

    async def forget(self, scope: Scope) -> None:
        """The session behind this scope is over: close what was opened for it. Idempotent, never raises."""
        ...
