"""Names: what may name a server, levels in order, and what may be shown of a scope."""

from __future__ import annotations

import pytest

from emceepee.vocabulary.names import LOCAL, LOG_LEVELS, MAX_SERVER_NAME, at_least, scope_label, server_name_problem


@pytest.mark.parametrize("name", ["a", "files", "my-server", "a_b", "a.b", "2", "A", "x" * MAX_SERVER_NAME])
def test_a_short_plain_name_can_be_used(name) -> None:
    assert server_name_problem(name) is None


@pytest.mark.parametrize(
    "name", ["", "a__b", "x" * (MAX_SERVER_NAME + 1), "a b", "a/b", "a:b", "-a", "_a", ".a", "é", "a\n", "a_\n"]
)
def test_any_other_is_told_why_not(name) -> None:
    assert "the name" in (server_name_problem(name) or "")


def test_levels_are_compared_by_severity() -> None:
    for index, level in enumerate(LOG_LEVELS):
        assert [at_least(level, minimum) for minimum in LOG_LEVELS] == [position <= index for position in range(8)]


@pytest.mark.shows("X-BUG-47")
def test_of_a_scope_only_a_short_digest_is_shown() -> None:
    secret = "01J9ZQ4M7N8P9RSTVWXYZ01234"
    label = scope_label(secret)
    assert len(label) == 8
    assert label not in secret
    assert label == scope_label(secret) != scope_label(secret + "x")
    assert scope_label(LOCAL) == "local"
