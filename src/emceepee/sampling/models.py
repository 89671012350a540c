"""Configured models, joined: those who serve them, the pipeline in front, the record behind, and the step that leads
in.

The one rule: what an operator did not configure is not there; nothing is imported or opened before it is used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from emceepee.runtime.clock import Clock
from emceepee.runtime.ids import Ids
from emceepee.sampling.answering import Answering
from emceepee.sampling.approval import Approver
from emceepee.sampling.audit_files import open_audit
from emceepee.sampling.choice import Catalogue
from emceepee.sampling.context import ContextSource
from emceepee.sampling.pipeline import Parts, Pipeline
from emceepee.sampling.provider import Provider
from emceepee.sampling.providers.definition import missing
from emceepee.sampling.providers.opening import open_providers
from emceepee.sampling.settings import SamplingOptions

_log = logging.getLogger("emceepee.sampling")


class Models:
    def __init__(
        self,
        options: SamplingOptions,
        environment: Mapping[str, str],
        clock: Clock,
        ids: Ids,
        new_id: Callable[[], str],
    ) -> None:
        self._options = options
        self._environment = environment
        self.providers = open_providers(options.providers, environment, ids)
        self._audit = open_audit(options.audit)
        self._clock = clock
        self.answering = Answering(options, new_id)

    def add(self, name: str, provider: Provider) -> None:
        """One of a program's own, under the name that models of the options give it."""
        self.providers[name] = provider

    def approve_by(self, person: Approver) -> None:
        """He is asked instead of the client, where the rule is to ask."""
        self.answering.approver.person = person

    def join(self, context: ContextSource) -> None:
        """The last part; before it nothing is answered."""
        options = self._options
        parts = Parts(
            Catalogue(options.models, options.default, options.strict_hints),
            self.providers,
            self.answering.approver,
            context,
            options.rules,
            self._audit,
            options.audit.prompts,
        )
        self.answering.pipeline = Pipeline(parts, self._clock, options.limits)

    def tell_missing(self) -> None:
        for definition in self._options.providers:
            if lack := missing(definition, self._environment):
                data = {"provider": lack.provider, "problem": lack.what, "cure": lack.cure}
                _log.warning("sampling_provider_missing", extra={"data": data})

    async def close(self) -> None:
        await self.answering.close()
        for provider in self.providers.values():
            await provider.close()
        self._audit.close()
