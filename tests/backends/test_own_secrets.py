"""What we give a server does not come back in its words."""

from __future__ import annotations

import pytest

from emceepee.backends.own_secrets import OwnSecrets, of_endpoint, of_environment

URL = "https://ann:p%40ssword@example.com/mcp?api_key=k3y-in-query&page=2"
HEADERS = (("Authorization", "Bearer t0ken-abc"), ("X-Own", "own-value"), ("Accept", "text/plain"))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("you sent Bearer t0ken-abc", "you sent ***"),
        ("token t0ken-abc is wrong", "token *** is wrong"),
        ("X-Own: own-value", "X-Own: ***"),
        ("GET /mcp?api_key=k3y-in-query&page=2", "GET /mcp?api_key=***&page=2"),
        ("p%40ssword or p@ssword", "*** or ***"),
        ("text/plain is what ann sees on page 2", "text/plain is what ann sees on page 2"),
    ],
)
def test_what_an_endpoint_was_given_is_hidden_and_nothing_else(said: str, shown: str) -> None:
    secrets = of_endpoint(URL, HEADERS)
    assert secrets.hide(said) == shown
    assert secrets.hide_in(said.encode()) == shown.encode()


def test_variables_are_secret_by_their_name() -> None:
    secrets = of_environment({"GITHUB_TOKEN": "ghp-123456", "HOME": "/users/ann", "MY_API_KEY": "abcdefgh"})
    assert secrets.hide("ghp-123456 abcdefgh in /users/ann") == "*** *** in /users/ann"


def test_one_secret_within_another_leaves_no_rest() -> None:
    assert OwnSecrets(["secret", "secret-longer"]).hide("secret-longer secret") == "*** ***"


def test_a_url_that_cannot_be_read_has_its_headers_hidden_all_the_same() -> None:
    assert of_endpoint("http://[", HEADERS).hide("own-value") == "***"


def test_broken_text_passes() -> None:
    assert of_endpoint(URL, HEADERS).hide_in(b"\xff\xfe own-value") == b"\xff\xfe ***"
