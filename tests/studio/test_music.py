"""Clips: made, written as MIDI, read back, and put in words."""

from __future__ import annotations

import contextlib
import io

import mido
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.studio.midi import NotMidi, read_midi, write_midi
from examples.studio.music import SCALES, CannotBeMade, Clip, Note, compose, read_key
from examples.studio.summary import likely_key, summary

PARTS = st.sampled_from(["melody", "bass", "chords"])
KEYS = st.sampled_from(["C major", "D minor", "F# dorian", "Bb", "Gb minor"])


@given(PARTS, KEYS, st.integers(1, 8), st.integers(0, 1000))
def test_a_clip_stays_in_its_key_and_its_bars_and_is_the_same_for_the_same_seed(
    part: str, key: str, bars: int, seed: int
) -> None:
    wanted = read_key(key)
    clip = compose(part, wanted, 100, bars, seed)  # type: ignore[arg-type]
    scale = {(wanted.root + step) % 12 for step in SCALES[wanted.scale]}
    assert {note.pitch % 12 for note in clip.notes} <= scale
    assert (bars - 1) * 4 < clip.beats <= bars * 4
    assert clip == compose(part, wanted, 100, bars, seed)  # type: ignore[arg-type]


@given(PARTS, KEYS, st.integers(1, 4), st.integers(0, 50))
def test_what_is_written_as_midi_is_read_back(part: str, key: str, bars: int, seed: int) -> None:
    clip = compose(part, read_key(key), 96, bars, seed)  # type: ignore[arg-type]
    again = read_midi(write_midi(clip))
    assert again.tempo == 96
    assert [(note.pitch, note.velocity) for note in again.notes] == [
        (note.pitch, note.velocity) for note in sorted(clip.notes, key=lambda note: (note.start, note.pitch))
    ]
    assert summary(again) == summary(clip)


def test_a_file_is_one_that_others_read() -> None:
    file = mido.MidiFile(file=io.BytesIO(write_midi(compose("bass", read_key("D minor"), 72, 2, 1))))
    assert file.length == pytest.approx(2 * 4 * 60 / 72, rel=0.05)


@pytest.mark.parametrize("data", [b"", b"MThd", b"RIFF\x00\x00\x00\x00WAVE", write_midi(Clip((), 120))[:20]])
def test_what_is_no_midi_is_one_sentence(data: bytes) -> None:
    with pytest.raises(NotMidi, match="no MIDI file"):
        read_midi(data)


def test_a_file_without_notes_is_no_clip() -> None:
    with pytest.raises(NotMidi, match="no note"):
        read_midi(write_midi(Clip((), 120)))


@given(st.binary(max_size=60))
def test_whatever_bytes_come_nothing_else_is_raised(tail: bytes) -> None:
    begin = b"MThd\x00\x00\x00\x06\x00\x00\x00\x01\x01\xe0MTrk\x00\x00\x00\x20"
    with contextlib.suppress(NotMidi):
        read_midi(begin + tail)


@pytest.mark.parametrize(("key", "tempo", "bars"), [("H major", 100, 4), ("C blues", 100, 4), ("C", 5, 4), ("C", 9, 0)])
def test_a_wish_that_does_not_fit_together_is_one_sentence(key: str, tempo: float, bars: int) -> None:
    with pytest.raises(CannotBeMade, match=r"no key|nobody can play|no clip"):
        compose("bass", read_key(key), tempo, bars, 1)


def test_a_clip_in_words_is_what_a_model_has_of_it() -> None:
    words = summary(compose("bass", read_key("D minor"), 72, 4, 3))
    for fact in (
        "72 beats a minute",
        "4 bars",
        "most likely D minor",
        "one voice",
        "D | Bb | F | C",
        "Notes in order: D2",
    ):
        assert fact in words
    assert "a single note" in summary(Clip((Note(60, 0, 1),), 90))


@pytest.mark.parametrize("key", ["C major", "A minor", "D dorian", "F# minor"])
def test_the_key_is_found(key: str) -> None:
    clip = compose("chords", read_key(key), 100, 8, 2)
    assert str(likely_key(clip)[0]) == key
