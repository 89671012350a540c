"""An error as this era tells it: its code, and the HTTP status that goes with it.

Not here: what a backend's error means (`eras.faults`). The one rule: who noticed a fault first, a backend or we, makes
no difference to its code and status.
"""

from __future__ import annotations

from emceepee.eras.faults import (
    URL_ELICITATION_REQUIRED,
    hidden,
    means_missing_resource,
    missing_resource,
    own_fault,
    reserved_to_its_speaker,
    truly_lacks,
    untellable,
)
from emceepee.protocol.messages import INVALID_PARAMS, ErrorObject
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import Fields

STATUSES = {
    -32700: 400,
    -32600: 400,
    -32602: 400,
    -32020: 400,
    -32021: 400,
    -32022: 400,
    -32601: 404,
}
"""HTTP status by error code, 200 for all others. One table for our errors and for those that backends answered: 2.12
wants 400 for a relayed -32602, the reference SDK does it for each, and a client may not read more into it than the body
says (V7), so two tables would only make the status depend on who noticed first."""


def write_error(error: BaseException | Failed, method: str, declared: Fields | None = None) -> tuple[int, ErrorObject]:
    """HTTP status and error, for one of ours or one that a backend answered. `declared` are the capabilities of the
    client, where they are known."""
    told = _told(error, method, declared)
    return STATUSES.get(told.code, 200), told


def _told(error: BaseException | Failed, method: str, declared: Fields | None) -> ErrorObject:
    if means_missing_resource(error, method):
        return missing_resource(error, INVALID_PARAMS)
    if not isinstance(error, Failed):
        return own_fault(error)
    if declared is not None and truly_lacks(error, declared):
        return ErrorObject(error.code, error.message, error.data)
    if (told := untellable(error)) is not None:
        return told
    if error.code == URL_ELICITATION_REQUIRED:
        return hidden(error, "url_elicitation_required")
    if reserved_to_its_speaker(error.code):
        return hidden(error)
    return ErrorObject(error.code, error.message, error.data)
