"""Other people's libraries are kept quiet, and what they read is read once more by us."""

from __future__ import annotations

import logging

import pytest

from emceepee.sampling.provider import ProviderFailed
from emceepee.sampling.providers.libraries import decoded, keep_quiet


def test_a_library_that_was_told_to_say_everything_says_nothing() -> None:
    library = logging.getLogger("some_library")
    library.setLevel(logging.DEBUG)
    keep_quiet("some_library")
    assert not logging.getLogger("some_library._base_client").isEnabledFor(logging.WARNING)
    assert not logging.getLogger("httpx2").isEnabledFor(logging.WARNING)


def test_what_is_no_json_is_malformed() -> None:
    assert decoded(b'{"a":1}') == {"a": 1}
    with pytest.raises(ProviderFailed) as caught:
        decoded(b"<html>")
    assert caught.value.kind == "malformed"
