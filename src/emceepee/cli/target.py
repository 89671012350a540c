"""Whom `tools` and `call` talk to: a URL, a command after `--`, or a configured server, as one definition.

The one rule: pure but for the configuration, which is read only when a bare name was given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from emceepee.backends.definition import ServerDefinition, StdioLaunch, http_endpoint, problems_with
from emceepee.backends.transport import Header
from emceepee.errors import OperatorFault

NAME = "server"
"""What a server is called that has only a URL or a command."""


def find_target(
    word: str | None,
    launch: Sequence[str] | None,
    headers: Sequence[str],
    env: Sequence[str],
    config: Sequence[str],
    wait: float,
) -> ServerDefinition:
    """The definition. Raises `OperatorFault` for what cannot be reached at all."""
    if launch:
        target = StdioLaunch(launch[0], tuple(launch[1:]), _pairs(env))
        definition = ServerDefinition(NAME, target, connect_timeout=wait)
    elif word is not None and "://" in word:
        definition = ServerDefinition(NAME, http_endpoint(word, _headers(headers)), connect_timeout=wait)
    elif word is not None:
        definition = _configured(word, config, os.environ)
    else:
        raise OperatorFault("say whom to talk to: a URL, the name of a configured server, or '--' and a command")
    if problems := problems_with(definition):
        raise OperatorFault(f"this cannot be reached: {problems[0][1]}")
    return definition


def _configured(name: str, config: Sequence[str], environment: Mapping[str, str]) -> ServerDefinition:
    from emceepee.config.load import load

    loaded = load(config, environment, Path.cwd())
    for definition in loaded.definitions:
        if definition.name == name:
            if definition.disabled:
                raise OperatorFault(f"the server '{name}' is disabled in the configuration")
            return definition
    mistakes = f"; {loaded.errors[0]}" if loaded.errors else ""
    known = ", ".join(definition.name for definition in loaded.definitions) or "none"
    where = ", ".join(loaded.files) or "the built-in configuration"
    raise OperatorFault(f"there is no server '{name}' in {where}; there is {known}{mistakes}")


def _headers(texts: Sequence[str]) -> tuple[Header, ...]:
    headers = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon:
            raise OperatorFault("--header is written as 'NAME: VALUE'")
        headers.append((name.strip(), value.strip()))
    return tuple(headers)


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise OperatorFault("--env is written as NAME=VALUE")
        pairs[name] = value
    return pairs
