"""The studio's tools. Written with `emceepee.tools`, so every client reaches it that reaches the gateway.

The one rule: what a model has to say is added to a result, and never decides whether there is one.
"""

from __future__ import annotations

import base64
import binascii
import logging
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from emceepee.tools import LocalServer, TextContent, ToolContext, ToolError, ToolResult
from examples.studio import uses
from examples.studio.artifacts import Artifact, Artifacts, StoreFailed
from examples.studio.midi import NotMidi, read_midi, write_midi
from examples.studio.music import CannotBeMade, Clip, Part, compose, read_key
from examples.studio.summary import summary

_log = logging.getLogger("studio")

INSTRUCTIONS = "Makes MIDI clips, keeps them, and says what they are like. Start with make_clip; clips are resources."

ClipId = Annotated[str, Meta(description="as make_clip and list_clips name it, such as clip-1")]


@dataclass
class Made:
    """`vibe` is there when a model could be asked."""

    id: str
    title: str
    uri: str
    summary: str
    vibe: list[str] | None = None


@dataclass
class Listed:
    id: str
    title: str
    uri: str
    annotations: dict[str, str]


@dataclass
class Clips:
    clips: list[Listed] = field(default_factory=list)


def make_studio(artifacts: Artifacts | None = None) -> LocalServer:
    studio = LocalServer("studio", "1.0", INSTRUCTIONS)
    room = _Room(Artifacts() if artifacts is None else artifacts)
    for maker in (room.make_clip, room.import_clip):
        studio.tool(maker)
    for reader in (room.analyse, room.orchestrate, room.write_prompt, room.list_clips):
        studio.tool(readOnlyHint=True)(reader)
    studio.resource("studio://clip/{id}", name="clip", mime_type="audio/midi", description="A clip as a MIDI file")(
        room.midi
    )
    studio.resource("studio://summary/{id}", name="summary", description="A clip in words")(room.words)
    return studio


class _Room:
    """The tools, which share what was made."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    async def make_clip(
        self,
        ctx: ToolContext,
        part: Part = "melody",
        key: Annotated[str, Meta(description="a note and major, minor or dorian")] = "C major",
        tempo: Annotated[float, Meta(description="beats a minute")] = 100.0,
        bars: int = 4,
        seed: Annotated[int, Meta(description="another number, another clip")] = 1,
        title: str | None = None,
    ) -> Made:
        """Makes a clip of a melody, a bass line or chords, and keeps it."""
        wanted = f"{part} in {key}, {tempo:g} beats a minute, {bars} bars, seed {seed}"
        try:
            clip = compose(part, read_key(key), tempo, bars, seed)
        except CannotBeMade as error:
            raise ToolError(await self._explained(ctx, wanted, str(error))) from None
        ctx.progress(1, 2, "composed")
        return await self._kept(ctx, title or f"{part} in {key}", clip, write_midi(clip))

    async def import_clip(
        self, ctx: ToolContext, data: Annotated[str, Meta(description="base64")], title: str = "imported"
    ) -> Made:
        """Takes a MIDI file in."""
        try:
            midi = base64.b64decode(data, validate=True)
            clip = read_midi(midi)
        except (NotMidi, binascii.Error) as error:
            wanted = f"to read a MIDI file of {len(data)} characters in base64 that begins with {data[:16]!r}"
            raise ToolError(await self._explained(ctx, wanted, str(error))) from None
        return await self._kept(ctx, title, clip, midi)

    async def analyse(self, ctx: ToolContext, clip: ClipId) -> ToolResult:
        """Describes the mood and characteristics of a clip; without a model, its facts alone."""
        artifact = self._found(clip)
        facts = summary(artifact.clip)
        said = await uses.analysis(ctx, facts)
        if said is not None:
            await self._annotate(clip, "analysis", said)
        return _text(facts if said is None else f"{said}\n\n{facts}", {"analysis": said, "facts": facts})

    async def orchestrate(self, ctx: ToolContext, clip: ClipId) -> ToolResult:
        """Suggests instruments that would go with a clip, such as a bass line."""
        artifact = self._found(clip)
        said = await uses.instruments(ctx, summary(artifact.clip))
        if said is None:
            return _text("Nobody here can suggest instruments: there is no model to ask", {"instruments": []})
        await self._annotate(clip, "instruments", "; ".join(said))
        return _text("\n".join(said), {"instruments": said})

    async def write_prompt(self, ctx: ToolContext, clip: ClipId) -> ToolResult:
        """Writes what to tell a text-to-music generator so that it makes something like a clip."""
        artifact = self._found(clip)
        facts = summary(artifact.clip)
        said = await uses.sound_prompt(ctx, facts, artifact.annotations.get("analysis"))
        if said is None:
            plain = " ".join(facts.splitlines()[:3])
            return _text(plain, {"prompt": plain, "byModel": False})
        await self._annotate(clip, "prompt", said)
        return _text(said, {"prompt": said, "byModel": True})

    async def list_clips(self) -> Clips:
        """Shows the clips that there are, with what was said about them."""
        return Clips([Listed(one.id, one.title, _uri(one), dict(one.annotations)) for one in self._artifacts.all()])

    def midi(self, id: str) -> bytes:
        return self._artifacts.get(id).midi

    def words(self, id: str) -> str:
        return summary(self._artifacts.get(id).clip)

    # -- what several do

    def _found(self, clip: str) -> Artifact:
        try:
            return self._artifacts.get(clip)
        except LookupError as error:
            raise ToolError(str(error.args[0])) from None

    async def _kept(self, ctx: ToolContext, title: str, clip: Clip, midi: bytes) -> Made:
        artifact = self._artifacts.add(title, clip, midi)
        facts = summary(clip)
        vibe = await uses.vibe(ctx, facts)
        if vibe is not None:
            await self._annotate(artifact.id, "vibe", ", ".join(vibe))
        ctx.progress(2, 2, "kept")
        return Made(artifact.id, title, _uri(artifact), facts, vibe)

    async def _annotate(self, clip: str, name: str, value: str) -> None:
        """The music is there whether or not what was said about it can be kept."""
        try:
            await self._artifacts.annotate(clip, name, value)
        except StoreFailed as failed:
            _log.warning("not annotated: %s", failed)

    async def _explained(self, ctx: ToolContext, wanted: str, error: str) -> str:
        said = await uses.why_it_failed(ctx, wanted, error)
        return error if said is None else f"{error}\n\n{said}"


def _uri(artifact: Artifact) -> str:
    return f"studio://clip/{artifact.id}"


def _text(text: str, structured: dict[str, object]) -> ToolResult:
    return ToolResult((TextContent(text),), structured)
