"""A definition says where a key is, and never holds it."""

from __future__ import annotations

from emceepee.sampling.providers.definition import CARRIES, EXTRAS, KINDS, PACKAGES, ProviderDefinition


def test_the_variable_is_the_one_given_or_the_usual_one_or_none_for_a_server_of_ones_own() -> None:
    assert ProviderDefinition("c", "anthropic").key_variable() == "ANTHROPIC_API_KEY"
    assert ProviderDefinition("c", "anthropic", key_env="MINE").key_variable() == "MINE"
    assert ProviderDefinition("o", "openai", base_url="http://localhost:11434/v1").key_variable() is None
    assert ProviderDefinition("l", "local").key_variable() is None


def test_each_kind_is_in_each_table() -> None:
    assert set(KINDS) == PACKAGES.keys() == EXTRAS.keys() == CARRIES.keys()
