"""What somebody can be asked: the kinds of ask, what of them can be declared, and a set of that as one word.

The one rule: a profile holds what really reaches somebody; two equal profiles are told to servers in equal words.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

AskKind: TypeAlias = Literal["elicitation", "sampling", "roots"]

Askable: TypeAlias = Literal["form", "url", "sampling", "sampling_tools", "sampling_context", "roots", "roots_news"]
"""What a server may be told that it can ask: `form` and `url` are the two modes of an elicitation, `sampling_tools` and
`sampling_context` what a sampling request may hold, `roots_news` that it is told when the roots change."""

AskProfile: TypeAlias = frozenset[Askable]
NO_ASKS: AskProfile = frozenset()

Step: TypeAlias = Literal["native", "tools", "model", "refuse"]
"""Who may answer: the client itself, the client by our tools, a configured model, nobody."""

KIND_OF: dict[Askable, AskKind] = {
    "form": "elicitation",
    "url": "elicitation",
    "sampling": "sampling",
    "sampling_tools": "sampling",
    "sampling_context": "sampling",
    "roots": "roots",
    "roots_news": "roots",
}

_SHORT: tuple[tuple[str, str, tuple[tuple[Askable, str], ...]], ...] = (
    ("elicitation", "e", (("form", "f"), ("url", "u"))),
    ("sampling", "s", (("sampling_context", "c"), ("sampling_tools", "t"))),
    ("roots", "r", (("roots_news", "n"),)),
)


def profile_text(profile: AskProfile) -> str:
    """The profile for people and logs: `-`, `e:f`, `e:f,u`, `s`, `s:c,t`, `r:n`, or several joined by a blank."""
    said = []
    for family, short, parts in _SHORT:
        letters = [letter for part, letter in parts if part in profile]
        if letters or family in profile:
            said.append(f"{short}:{','.join(letters)}" if letters else short)
    return " ".join(said) or "-"
