"""A clip in words that a model can read: it cannot hear.

The one rule: everything in it is counted from the notes, nothing is guessed about feelings; that is the model's part.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from examples.studio.music import BEATS, NAMES, SCALES, Clip, Key

_SHOWN_NOTES = 48


def summary(clip: Clip) -> str:
    key, share = likely_key(clip)
    seconds = clip.beats * 60 / clip.tempo
    bars = max(1, round(clip.beats / BEATS))
    pitches = [note.pitch for note in clip.notes]
    lines = [
        f"Tempo: {clip.tempo:g} beats a minute; {bars} bars of {BEATS}/4, {seconds:.0f} seconds.",
        f"Key: most likely {key} ({share:.0%} of the notes fit).",
        f"Range: {name(min(pitches))} to {name(max(pitches))}, on average around {name(round(_mean(pitches)))}.",
        f"Notes: {len(pitches)}, {len(pitches) / bars:.1f} a bar; {_texture(clip)}.",
        f"Rhythm: {_rhythm(clip)}.",
        f"Loudness: {_loudness(clip)}.",
        f"Movement: {_movement(clip)}.",
        f"Chords or lowest notes, bar by bar: {_bars(clip, bars)}.",
        f"Notes in order: {' '.join(name(note.pitch) for note in clip.notes[:_SHOWN_NOTES])}"
        + (" ..." if len(pitches) > _SHOWN_NOTES else ""),
    ]
    return "\n".join(lines)


def name(pitch: int) -> str:
    return f"{NAMES[pitch % 12]}{pitch // 12 - 1}"


def likely_key(clip: Clip) -> tuple[Key, float]:
    """The key whose scale holds most of the time that sounds, its own chord counting double."""
    weights: Counter[int] = Counter()
    for note in clip.notes:
        weights[note.pitch % 12] += note.length  # type: ignore[assignment]
    total = sum(weights.values()) or 1.0

    def fit(key: Key) -> float:
        scale = {(key.root + step) % 12 for step in SCALES[key.scale]}
        chord = {(key.root + key.degree(step)) % 12 for step in (0, 2, 4)}
        return sum(weight * ((one in scale) + 0.5 * (one in chord)) for one, weight in weights.items())

    lowest = min(clip.notes, key=lambda note: (note.start, note.pitch)).pitch % 12
    keys = [Key(root, scale) for root in range(12) for scale in SCALES]
    best = max(keys, key=lambda key: fit(key) + (0.2 * total if key.root == lowest else 0.0))
    inside = {(best.root + step) % 12 for step in SCALES[best.scale]}
    return best, sum(weight for one, weight in weights.items() if one in inside) / total


def _mean(values: list[int]) -> float:
    return sum(values) / len(values)


def _texture(clip: Clip) -> str:
    together = Counter(note.start for note in clip.notes)
    most = max(together.values())
    return "one voice" if most == 1 else f"up to {most} at once"


def _rhythm(clip: Clip) -> str:
    lengths = Counter(round(note.length * 2) / 2 or 0.25 for note in clip.notes)
    said = ", ".join(f"{count} of about {length:g} beats" for length, count in lengths.most_common(3))
    off = sum(note.start % 1 != 0 for note in clip.notes) / len(clip.notes)
    return f"{said}; {off:.0%} begin off the beat"


def _loudness(clip: Clip) -> str:
    velocities = [note.velocity for note in clip.notes]
    mean = _mean(velocities)
    word = "soft" if mean < 60 else "loud" if mean > 95 else "medium"
    return f"{word}, from {min(velocities)} to {max(velocities)} of 127"


def _movement(clip: Clip) -> str:
    line = [note.pitch for note in clip.notes]
    steps = [after - before for before, after in pairwise(line)]
    if not steps:
        return "a single note"
    small = sum(abs(step) <= 2 for step in steps) / len(steps)
    way = line[-1] - line[0]
    ends = "ends where it began" if way == 0 else f"ends {abs(way)} half tones {'above' if way > 0 else 'below'}"
    return f"{small:.0%} of the steps are small, {sum(step < 0 for step in steps)} of {len(steps)} go down; it {ends}"


def _bars(clip: Clip, bars: int) -> str:
    said = []
    for bar in range(min(bars, 16)):
        inside = [note for note in clip.notes if bar * BEATS <= note.start < (bar + 1) * BEATS]
        first = sorted({note.pitch for note in inside if note.start == min(one.start for one in inside)})
        said.append("-".join(NAMES[pitch % 12] for pitch in first) or "rest")
    return " | ".join(said) + (" | ..." if bars > 16 else "")
