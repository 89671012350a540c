"""Clips as MIDI files, by mido.

The one rule: what cannot be read is one sentence, whatever the library thought of it.
"""

from __future__ import annotations

import io

import mido

from examples.studio.music import Clip, Note

TICKS = 480
_MOST_NOTES = 20_000


class NotMidi(ValueError):
    """The bytes are no MIDI file that can be used; the text says why."""


def write_midi(clip: Clip) -> bytes:
    file = mido.MidiFile(ticks_per_beat=TICKS)
    track = mido.MidiTrack()
    file.tracks.append(track)
    track.append(mido.MetaMessage("set_tempo", tempo=mido.bpm2tempo(clip.tempo)))
    events: list[tuple[int, int, mido.Message]] = []
    for note in clip.notes:
        begin, end = round(note.start * TICKS), round((note.start + note.length) * TICKS)
        # An end comes before a beginning at the same place, or the new note would be cut at once.
        events.append((begin, 1, mido.Message("note_on", note=note.pitch, velocity=note.velocity)))
        events.append((end, 0, mido.Message("note_off", note=note.pitch)))
    now = 0
    for at, _, message in sorted(events, key=lambda event: event[:2]):
        track.append(message.copy(time=at - now))
        now = at
    out = io.BytesIO()
    file.save(file=out)
    return out.getvalue()


def read_midi(data: bytes) -> Clip:
    """Raises `NotMidi`."""
    try:
        file = mido.MidiFile(file=io.BytesIO(data))
        messages = [message for track in file.tracks for message in _absolute(track)]
    except (EOFError, OSError, ValueError, IndexError, KeyError) as error:
        raise NotMidi(f"these {len(data)} bytes are no MIDI file ({type(error).__name__})") from None
    if file.ticks_per_beat <= 0:
        raise NotMidi("its time is not counted in beats")
    messages.sort(key=lambda one: (one[0], one[1].type == "note_on"))
    tempo = next((mido.tempo2bpm(message.tempo) for _, message in messages if message.type == "set_tempo"), 120.0)
    notes = _notes(messages, file.ticks_per_beat)
    if not notes:
        raise NotMidi("there is no note in it")
    if len(notes) > _MOST_NOTES:
        raise NotMidi(f"{len(notes)} notes are too many for a clip")
    return Clip(tuple(sorted(notes, key=lambda note: (note.start, note.pitch))), round(tempo, 2))


def _absolute(track: mido.MidiTrack) -> list[tuple[int, mido.Message]]:
    now, found = 0, []
    for message in track:
        now += message.time
        found.append((now, message))
    return found


def _notes(messages: list[tuple[int, mido.Message]], ticks: int) -> list[Note]:
    open_notes: dict[tuple[int, int], tuple[int, int]] = {}
    notes = []
    for at, message in messages:
        if message.type not in ("note_on", "note_off"):
            continue
        voice = message.channel, message.note
        begun = open_notes.pop(voice, None)
        if begun is not None and at > begun[0]:
            notes.append(Note(message.note, begun[0] / ticks, (at - begun[0]) / ticks, begun[1]))
        if message.type == "note_on" and message.velocity:
            open_notes[voice] = at, message.velocity
    return notes
