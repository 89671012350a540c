"""Notes, keys and the making of a clip: plain values and pure functions.

It knows no file format and no model. The one rule: the same wish with the same seed is the same clip.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

Part = Literal["melody", "bass", "chords"]

NAMES = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
SCALES = {
    "major": (0, 2, 4, 5, 7, 9, 11),
    "minor": (0, 2, 3, 5, 7, 8, 10),
    "dorian": (0, 2, 3, 5, 7, 9, 10),
}
FLATS = {"Db": "C#", "D#": "Eb", "Gb": "F#", "G#": "Ab", "A#": "Bb"}
BEATS = 4
"""Of a bar."""

_REGISTER = {"bass": 36, "chords": 48, "melody": 60}
"""The C at the bottom of each."""
_ROOTS = {"major": ((0, 4, 5, 3), (0, 3, 4, 0)), "minor": ((0, 5, 2, 6), (0, 3, 6, 4)), "dorian": ((0, 3, 0, 4),)}
_RHYTHMS = ((1.0, 1.0, 1.0, 1.0), (1.5, 0.5, 1.0, 1.0), (0.5, 0.5, 1.0, 2.0), (2.0, 2.0), (0.5,) * 8)


class CannotBeMade(ValueError):
    """The wish does not fit together; the text says why."""


@dataclass(slots=True, frozen=True)
class Note:
    """`start` and `length` in beats; `pitch` as MIDI counts them, 60 is the C in the middle."""

    pitch: int
    start: float
    length: float
    velocity: int = 80


@dataclass(slots=True, frozen=True)
class Clip:
    notes: tuple[Note, ...]
    tempo: float
    """Beats a minute."""

    @property
    def beats(self) -> float:
        return max((note.start + note.length for note in self.notes), default=0.0)


@dataclass(slots=True, frozen=True)
class Key:
    root: int
    scale: str

    def __str__(self) -> str:
        return f"{NAMES[self.root]} {self.scale}"

    def degree(self, step: int) -> int:
        """Half tones above the root, of a step that may lie in another octave."""
        octave, within = divmod(step, len(SCALES[self.scale]))
        return 12 * octave + SCALES[self.scale][within]


def read_key(text: str) -> Key:
    """`D minor`, `F#`, `Bb dorian`."""
    name, _, scale = text.strip().partition(" ")
    name = name[:1].upper() + name[1:]
    name, scale = FLATS.get(name, name), scale.strip().lower() or "major"
    if name not in NAMES or scale not in SCALES:
        raise CannotBeMade(f"'{text}' is no key: write a note and one of {', '.join(SCALES)}, such as 'D minor'")
    return Key(NAMES.index(name), scale)


def compose(part: Part, key: Key, tempo: float, bars: int, seed: int) -> Clip:
    """Raises `CannotBeMade`."""
    if not 20 <= tempo <= 300:
        raise CannotBeMade(f"nobody can play at {tempo:g} beats a minute: from 20 to 300")
    if not 1 <= bars <= 64:
        raise CannotBeMade(f"{bars} bars are no clip: from 1 to 64")
    chance = random.Random(seed)  # noqa: S311 - music, not secrets
    roots = chance.choice(_ROOTS[key.scale])
    notes: list[Note] = []
    for bar in range(bars):
        root = roots[bar % len(roots)]
        notes += _bar(part, key, root, bar * BEATS, chance)
    return Clip(tuple(notes), tempo)


def _bar(part: Part, key: Key, root: int, start: float, chance: random.Random) -> list[Note]:
    base = _REGISTER[part] + key.root
    if part == "chords":
        return [Note(base + key.degree(root + step), start, BEATS, 70) for step in (0, 2, 4)]
    steps = (0, 0, 4, 0, 7) if part == "bass" else (0, 1, 2, 4, 5, 7)
    notes, at = [], start
    for length in chance.choice(_RHYTHMS):
        step = root + (0 if at == start else chance.choice(steps))
        notes.append(Note(base + key.degree(step), at, length * 0.95, chance.randint(64, 100)))
        at += length
    return notes
