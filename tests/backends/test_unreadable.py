"""An answer that cannot be read is told like any other violation."""

from __future__ import annotations

from emceepee.backends.unreadable import answer_instead
from emceepee.vocabulary.raw_json import read_value


def test_it_answers_the_request_in_our_own_name() -> None:
    failure = answer_instead("g7", "both a result and an error")
    assert failure.id == "g7"
    assert failure.error.code == -32603
    assert failure.error.message == "The server's answer cannot be read: both a result and an error"
    assert failure.error.data is not None
    assert read_value(failure.error.data) == {"reason": "backend_violation"}
