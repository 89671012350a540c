"""Everything that can go wrong, by whose fault it is.

    EmceepeeError
    ├── ClientFault          the caller asked for something wrong; carries the JSON-RPC code it is answered with
    ├── BackendFault         a server behind us failed; carries the server's name and a stable `reason`
    │   ├── BackendUnavailable     could not be reached, or went away before it could have seen the request
    │   ├── BackendTimeout         reached, and silent past the caller's deadline
    │   ├── BackendAuth            it wants credentials that we do not have
    │   ├── BackendViolation       it answered something that is not MCP
    │   └── OutcomeUnknown         it may have done the work; the answer is lost, and we do not ask twice
    ├── LimitReached         a bound of ours: which one, and its value
    └── OperatorFault        configuration or installation; carries what to do about it

The one rule: an error here is raised where the cause is known and turned into an answer in exactly one place,
`front/answers.py`. An error which a backend *answered* is not an exception: it is an outcome
(`vocabulary.outcomes.Failed`).
"""

from __future__ import annotations

from typing import Any, ClassVar


class EmceepeeError(Exception):
    """Base of the tree; never raised itself."""


class ClientFault(EmceepeeError):
    """The caller's mistake: `code` is the JSON-RPC code, `data` may name the place and the cure."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class BackendFault(EmceepeeError):
    """A server behind us failed. `reason` is part of our interface and goes into `data.reason` of the answer."""

    reason: ClassVar[str] = "backend_failed"

    def __init__(self, server: str, detail: str) -> None:
        super().__init__(f"Server '{server}': {detail}")
        self.server = server
        self.detail = detail

    def told(self) -> dict[str, Any]:
        """What goes into the `data` of an answer."""
        return {"reason": self.reason, "server": self.server}


class BackendUnavailable(BackendFault):
    reason = "backend_unavailable"


class BackendTimeout(BackendFault):
    reason = "backend_timeout"


class BackendAuth(BackendFault):
    reason = "backend_auth"


class BackendViolation(BackendFault):
    reason = "backend_violation"


class OutcomeUnknown(BackendFault):
    """`evidence` is what there is to judge by: whether the request was `sent`, what of the call was `lastSeen`, and the
    tool's own `annotations`."""

    reason = "outcome_unknown"

    def __init__(self, server: str, detail: str, evidence: dict[str, Any] | None = None) -> None:
        super().__init__(server, detail)
        self.evidence = evidence or {}

    def told(self) -> dict[str, Any]:
        return super().told() | ({"evidence": self.evidence} if self.evidence else {})


class LimitReached(EmceepeeError):
    """One of our own bounds. The sentence names the setting, so that whoever reads it knows what to raise."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"Too many {what}: the limit is {limit}")
        self.what = what
        self.limit = limit


class OperatorFault(EmceepeeError):
    """Something the person who runs the gateway can fix; the text says how."""
