"""Configured models, joined: a program's own provider, what is missing, and an end that closes everything."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from emceepee.runtime.ids import SystemIds
from emceepee.sampling.context import NoContext
from emceepee.sampling.model import Model
from emceepee.sampling.models import Models
from emceepee.sampling.pipeline import SamplingAsk
from emceepee.sampling.provider import ProviderAnswer
from emceepee.sampling.providers.definition import ProviderDefinition
from emceepee.sampling.settings import AuditSettings, SamplingOptions
from tests.sampling.models import FakeApprover, said
from tests.sampling.samples import request
from tests.support.fake_clock import FakeClock


class Own:
    closed = False

    async def ask(self, model: Model, params: object, seconds: float) -> ProviderAnswer:
        return ProviderAnswer(said())

    async def close(self) -> None:
        self.closed = True


def joined(options: SamplingOptions) -> Models:
    models = Models(options, {}, FakeClock(), SystemIds(), lambda: "r1")
    models.join(NoContext())
    return models


@pytest.mark.shows("X-GAP-21")
async def test_a_programs_own_provider_and_person_serve_and_are_recorded_and_closed(tmp_path: Path) -> None:
    file, own, person = tmp_path / "a.jsonl", Own(), FakeApprover()
    models = joined(SamplingOptions(models=(Model("m", "own"),), audit=AuditSettings(str(file), prompts=True)))
    models.add("own", own)
    models.approve_by(person)
    assert models.answering.pipeline is not None
    assert await models.answering.pipeline.answer(SamplingAsk("r1", "local", "s", request())) == said()
    await models.close()
    assert (len(person.requests), len(person.answers), own.closed) == (1, 1, True)
    record = json.loads(file.read_text())
    assert (record["approvedBy"], record["request"], record["answer"]) == ("test", request(), said())


async def test_what_a_provider_lacks_is_said_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    models = joined(SamplingOptions(providers=(ProviderDefinition("claude", "anthropic"),)))
    with caplog.at_level(logging.WARNING, "emceepee.sampling"):
        models.tell_missing()
    (line,) = caplog.records
    assert (line.message, line.data["provider"]) == ("sampling_provider_missing", "claude")  # type: ignore[attr-defined]
    await models.close()


def test_what_is_promised_is_what_the_models_take() -> None:
    plain, able = Model("m", "own"), Model("n", "own", takes=frozenset({"tools"}))
    assert joined(SamplingOptions(models=(plain,))).answering.takes == {"sampling"}
    assert joined(SamplingOptions(models=(plain, able))).answering.takes == {"sampling", "sampling_tools"}
