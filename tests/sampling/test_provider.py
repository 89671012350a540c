"""What a server author is told when a provider fails."""

from __future__ import annotations

from typing import get_args

import pytest

from emceepee.sampling.provider import FailureKind, ProviderFailed


@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_each_failure_has_its_words_and_what_to_do_and_tells_no_detail(kind: FailureKind) -> None:
    refusal = ProviderFailed(kind, "key sk-1 and the prompt").refusal("m-1")
    assert refusal.code == -32603
    assert refusal.message == f"The model did not answer: {refusal.data['reason']}"
    assert refusal.data["suggestion"]
    assert refusal.data["model"] == "m-1"
    assert "sk-1" not in f"{refusal.message} {refusal.data}"


def test_the_detail_is_there_for_whoever_catches_it() -> None:
    failed = ProviderFailed("overloaded", "status 529", 3.0)
    assert str(failed) == "the provider is overloaded (status 529)"
    assert failed.retry_after == 3.0
