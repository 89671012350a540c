"""The configuration read again while the gateway runs: because a file changed, or because somebody said so.

It reads no file itself and decides nothing about what a change is: `config` does. Settings are not changed while it
runs; that they would be is said.

The one rule: what did not change does not notice, and a configuration with a mistake that it did not have before
changes nothing at all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from emceepee.backends.definition import ServerDefinition
from emceepee.backends.registry import Registry
from emceepee.config.changes import changes
from emceepee.config.load import Loaded, Source
from emceepee.config.problems import Problem
from emceepee.errors import EmceepeeError
from emceepee.relay.news import News
from emceepee.runtime.clock import Clock, Timer

_log = logging.getLogger("emceepee.app")

LOOK_EVERY = 2.0
"""A file has to be the same at two looks before it is read: programs write them in pieces."""


class Reloading:
    def __init__(self, source: Source, started: Loaded, registry: Registry, news: News, clock: Clock) -> None:
        self._source = source
        self._last = started
        self._settings = started.settings
        self._registry = registry
        self._news = news
        self._clock = clock
        self._read = self._seen = source.stamp()
        self._timer: Timer | None = None

    # -- when

    def watch(self) -> None:
        """Look at the files from now on, until `close`."""
        self._timer = self._clock.after(LOOK_EVERY, self._look)

    def _look(self) -> None:
        stamp, before = self._source.stamp(), self._seen
        self._seen = stamp
        if stamp == before and stamp != self._read:
            self.reload()
        self.watch()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    # -- what

    def reload(self) -> None:
        """Read it again, now. Never raises for what the files say."""
        self._read = self._seen = self._source.stamp()
        loaded = self._source.read()
        problems = self._new_problems(loaded)
        if problems or loaded.fatal:
            for problem in problems:
                _log.warning("config_problem", extra={"data": problem.as_json()})
            said = [str(problem) for problem in problems]
            _log.error("config_reload_refused", extra={"data": {"files": list(loaded.files), "why": said}})
            return
        self._note_settings(loaded)
        self._apply(self._definitions(loaded))
        self._last = replace(loaded, definitions=self._definitions(loaded))

    def _new_problems(self, loaded: Loaded) -> list[Problem]:
        """Errors that were not there when it was read with success before: those have cost their servers already."""
        known = {(problem.file, problem.where, problem.what) for problem in self._last.errors}
        return [one for one in loaded.errors if loaded.fatal or (one.file, one.where, one.what) not in known]

    def _note_settings(self, loaded: Loaded) -> None:
        if loaded.settings != self._settings and loaded.settings != self._last.settings:
            cure = "settings are read when the gateway starts: restart it for them"
            _log.warning("config_settings_unchanged", extra={"data": {"cure": cure}})

    def _definitions(self, loaded: Loaded) -> tuple[ServerDefinition, ...]:
        """As they would be under the settings that hold."""
        said, holds = loaded.settings.timeouts.connect, self._settings.timeouts.connect
        return tuple(
            replace(one, connect_timeout=holds) if one.connect_timeout == said else one for one in loaded.definitions
        )

    def _apply(self, definitions: Sequence[ServerDefinition]) -> None:
        present = {definition.name: definition for definition in self._registry.list()}
        found = changes(self._last.definitions, definitions, present)
        for name in found.remove:
            self._registry.remove(name)
            self._news.removed(name, None)
        put = [definition.name for definition in found.put if self._put(definition)]
        data = {"put": put, "removed": list(found.remove), "kept": len(found.keep), "left": list(found.left)}
        _log.info("config_reloaded", extra={"data": data})

    def _put(self, definition: ServerDefinition) -> bool:
        try:
            added = self._registry.add(definition)
        except EmceepeeError as fault:
            _log.warning("config_server_refused", extra={"data": {"server": definition.name, "why": str(fault)}})
            return False
        if definition.disabled:
            if added == "updated":
                self._news.removed(definition.name, None)
        else:
            self._news.added(definition.name, definition.address, None, replaced=added == "updated")
        return True
