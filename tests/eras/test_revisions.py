"""The revisions, their order, and what is negotiated."""

from __future__ import annotations

import pytest

from emceepee.eras.revisions import LEGACY, MODERN, SUPPORTED, accepts_batches, negotiate, older


def test_we_name_all_five_newest_first() -> None:
    assert SUPPORTED == ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


@pytest.mark.parametrize("revision", LEGACY)
def test_a_handshake_revision_that_we_know_is_echoed(revision: str) -> None:
    assert negotiate(revision) == revision


@pytest.mark.parametrize("proposed", [MODERN, "2099-01-01", "1.0", ""])
@pytest.mark.shows("EB-A11")
def test_any_other_proposal_gets_the_newest_with_a_handshake(proposed: str) -> None:
    assert negotiate(proposed) == "2025-11-25"


@pytest.mark.shows("EB-A12")
def test_only_the_two_oldest_take_several_messages_at_once() -> None:
    assert [revision for revision in SUPPORTED if accepts_batches(revision)] == ["2025-03-26", "2024-11-05"]


def test_an_unknown_revision_is_older_than_none() -> None:
    assert older("2024-11-05", "2025-03-26")
    assert not older("2025-03-26", "2025-03-26")
    assert not older("0000-00-00", "2025-03-26")
