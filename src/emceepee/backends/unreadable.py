"""What a call is told when its answer came and cannot be read.

The one rule: whoever waits for an answer that is known to be lost does not wait for a deadline.
"""

from __future__ import annotations

from msgspec import Raw

from emceepee.errors import BackendViolation
from emceepee.protocol.messages import INTERNAL_ERROR, ErrorObject, Failure, RequestId
from emceepee.vocabulary.raw_json import to_raw

_REASON: Raw = to_raw({"reason": BackendViolation.reason})


def answer_instead(request: RequestId, detail: str) -> Failure:
    """In the words of any other violation; a peer takes it as the answer, if it waits for one under this id."""
    return Failure(request, ErrorObject(INTERNAL_ERROR, f"The server's answer cannot be read: {detail}", _REASON))
