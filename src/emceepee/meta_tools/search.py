"""Finding tools by words. Pure.

The one rule: words are compared, never executed: no regular expression of a caller's reaches anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

_word = re.compile(r"[^\W_]+")
_camel = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_WORDS = 16

Item = TypeVar("Item")


@dataclass(slots=True, frozen=True)
class Text:
    """What of an entry is searched, heaviest first."""

    name: str
    description: str
    server: str


def words(query: str) -> list[str]:
    """A query's distinct words, lower case and in the singular."""
    return list(dict.fromkeys(_parts(query[:1000])))[:_MAX_WORDS]


def _parts(text: str) -> list[str]:
    return [_singular(word) for word in _word.findall(_camel.sub(" ", text).lower())]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def ranked(query: str, candidates: Sequence[tuple[Text, Item]]) -> list[Item]:
    """Those that have any of the words, those that have more of them, and in better places, first."""
    wanted = words(query)
    if not wanted:
        return [item for _, item in candidates]
    scored = [(_score(query.strip().lower(), wanted, text), item) for text, item in candidates]
    found = [(score, item) for score, item in scored if score > 0]
    found.sort(key=lambda pair: -pair[0])
    return [item for _, item in found]


def _score(query: str, wanted: list[str], text: Text) -> int:
    name = text.name.lower()
    parts = set(_parts(text.name))
    description = text.description.lower()
    described = set(_parts(text.description))
    server = text.server.lower()
    scores = [_word_score(word, name, parts, description, described, server) for word in wanted]
    matched = sum(score > 0 for score in scores)
    return (1000 if query == name else 0) + 20 * matched * (matched > 1) + sum(scores)


def _word_score(word: str, name: str, parts: set[str], description: str, described: set[str], server: str) -> int:
    if word in parts:
        return 10
    if len(word) > 1 and word in name:
        return 6
    if word in described:
        return 4
    if len(word) > 2 and word in server:
        return 3
    return 1 if len(word) > 2 and word in description else 0
