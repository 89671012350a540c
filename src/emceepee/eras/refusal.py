"""A request turned away at the door: HTTP status and JSON-RPC error in one value.

Not here: errors of calls that were let in (those are exceptions, see `errors`). The one rule: a refusal is decided from
the message and its headers alone, before anything of ours has been touched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from emceepee.eras.revisions import SUPPORTED
from emceepee.protocol.messages import RequestId, write_failure

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022


@dataclass(slots=True, frozen=True)
class Refusal:
    """`status` is for HTTP; on a pipe only the error is written."""

    status: int
    code: int
    message: str
    data: Any = None
    id: RequestId | None = None

    def body(self) -> bytes:
        """The JSON-RPC error response, whole."""
        return write_failure(self.id, self.code, self.message, self.data)

    def answering(self, request_id: RequestId | None) -> Refusal:
        """The same refusal, as the answer to that request."""
        return replace(self, id=request_id)


def mismatch(message: str, request_id: RequestId | None = None) -> Refusal:
    """A routing header is missing, doubled, malformed or disagrees with the body."""
    return Refusal(400, HEADER_MISMATCH, message, id=request_id)


def unsupported_version(requested: str, request_id: RequestId | None = None) -> Refusal:
    """A modern peer asked for a revision that we do not speak; it learns which ones we do."""
    data = {"supported": list(SUPPORTED), "requested": requested}
    return Refusal(400, UNSUPPORTED_VERSION, "Unsupported protocol version", data, request_id)
