"""What a provider's status means, and that nothing of its sentence stays."""

from __future__ import annotations

import pytest

from emceepee.sampling.providers.failures import failed_with

SENTENCE = "prompt 'my secret song' with key sk-123 is wrong"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, {"type": "error", "error": {"type": "rate_limit_error"}}, "overloaded"),
        (503, None, "overloaded"),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, "overloaded"),
        (401, {"code": "invalid_api_key"}, "refused_key"),
        (403, {}, "refused_key"),
        (400, {"code": "context_length_exceeded"}, "context_too_long"),
        (400, {"error": {"message": "prompt is too long: 300000 tokens > 200000 maximum"}}, "context_too_long"),
        (413, b"", "context_too_long"),
        (400, {"error": {"message": "temperature is wrong"}}, "refused_request"),
        (404, {}, "refused_request"),
        (408, {}, "timed_out"),
        (504, {}, "timed_out"),
        (500, "<html>", "broken"),
    ],
)
def test_a_status_is_one_kind_of_failure(status: int, body: object, kind: str) -> None:
    assert failed_with(status, body, {}).kind == kind


def test_of_what_was_said_only_a_short_name_stays() -> None:
    assert failed_with(400, {"error": {"type": "bad_thing", "message": SENTENCE}}, {}).detail == "status 400, bad_thing"
    assert failed_with(400, {"type": SENTENCE}, {}).detail == "status 400"
    assert failed_with(400, SENTENCE, {}).detail == "status 400"


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("soon", None), ("-1", None), ("nan", None)])
def test_how_long_to_wait_is_taken_where_it_is_a_number(header: str, seconds: float | None) -> None:
    assert failed_with(429, {}, {"retry-after": header}).retry_after == seconds
    assert failed_with(400, {}, {"retry-after": header}).retry_after is None
