"""What was made, kept in memory with what was said about it.

The one rule: everything has a bound; reaching one is an error that says so, and whoever can do without says nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from examples.studio.music import Clip


class StoreFailed(Exception):
    """It could not be kept."""


@dataclass(slots=True)
class Artifact:
    id: str
    title: str
    clip: Clip
    midi: bytes = field(repr=False)
    annotations: dict[str, str] = field(default_factory=dict)


class Artifacts:
    def __init__(self, most: int = 500, most_annotations: int = 20) -> None:
        self._most = most
        self._most_annotations = most_annotations
        self._kept: OrderedDict[str, Artifact] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, title: str, clip: Clip, midi: bytes) -> Artifact:
        """The oldest goes where there is no room."""
        self._count += 1
        artifact = Artifact(f"clip-{self._count}", title, clip, midi)
        while len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        self._kept[artifact.id] = artifact
        return artifact

    def get(self, id: str) -> Artifact:
        """Raises `LookupError`."""
        if id not in self._kept:
            raise LookupError(f"there is no clip '{id[:40]}'; list_clips shows those that there are")
        return self._kept[id]

    def all(self) -> list[Artifact]:
        return list(self._kept.values())

    async def annotate(self, id: str, name: str, value: str) -> None:
        """Raises `StoreFailed`."""
        artifact = self._kept.get(id)
        if artifact is None:
            raise StoreFailed(f"'{id[:40]}' is gone")
        if name not in artifact.annotations and len(artifact.annotations) >= self._most_annotations:
            raise StoreFailed(f"'{id}' has {self._most_annotations} annotations already")
        artifact.annotations[name] = value[:2000]
