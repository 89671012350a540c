"""References to variables in configured texts."""

from __future__ import annotations

import pytest

from emceepee.config.variables import expand

ENVIRONMENT = {"HOME": "/users/me", "TOKEN": "t0k", "EMPTY": "", "REF": "${TOKEN}"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("${TOKEN}", "t0k"),
        ("Bearer ${TOKEN}, ${HOME}/x", "Bearer t0k, /users/me/x"),
        ("${env:TOKEN}", "t0k"),
        ("${NOPE:-default}", "default"),
        ("${NOPE:-}", ""),
        ("${NOPE:-http://x:1/y}", "http://x:1/y"),
        ("${env:NOPE:-d}", "d"),
        ("${TOKEN:-default}", "t0k"),
        ("${EMPTY:-default}", "default"),
        ("${EMPTY}", ""),
        ("${userHome}/x", "/users/me/x"),
        ("$TOKEN $HOME {TOKEN} $ {x}", "$TOKEN $HOME {TOKEN} $ {x}"),
        ("${REF}", "${TOKEN}"),
    ],
)
def test_references_are_replaced_once_and_everything_else_is_text(text, expanded) -> None:
    assert expand(text, ENVIRONMENT) == (expanded, [])


@pytest.mark.parametrize(
    ("text", "what", "cure"),
    [
        ("${NOPE}", "the variable NOPE is not set", "set NOPE, or write ${NOPE:-default}"),
        ("${input:api-key}", "a question that an editor asks", "${API_KEY}"),
        ("${workspaceFolder}/x", "known to editors only", "write the path"),
        ("${cmd: ls}", "is not understood", "${NAME}"),
        ("${}", "is not understood", "${NAME}"),
        ("${A:-${B}}", "stands inside another", "plain text"),
    ],
)
def test_what_cannot_be_replaced_is_left_and_complained_of_with_a_cure(text, what, cure) -> None:
    left, ((said, advised),) = expand(text, ENVIRONMENT)
    assert left == text
    assert what in said
    assert cure in advised


def test_every_missing_variable_of_a_text_is_complained_of() -> None:
    _, complaints = expand("${A} ${TOKEN} ${B}", ENVIRONMENT)
    assert len(complaints) == 2


def test_a_complaint_never_holds_a_value() -> None:
    _, complaints = expand("${TOKEN} ${NOPE}", ENVIRONMENT)
    assert "t0k" not in repr(complaints)
