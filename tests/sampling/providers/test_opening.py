"""Providers made of their definitions."""

from __future__ import annotations

from emceepee.runtime.ids import SystemIds
from emceepee.sampling.providers.anthropic import AnthropicProvider
from emceepee.sampling.providers.definition import ProviderDefinition
from emceepee.sampling.providers.local import LocalProvider
from emceepee.sampling.providers.openai import OpenAiProvider
from emceepee.sampling.providers.opening import open_providers

CLAUDE = ProviderDefinition("claude", "anthropic")
OLLAMA = ProviderDefinition("ollama", "openai", base_url="http://127.0.0.1:11434/v1")
SMALL = ProviderDefinition("small", "local", path="m.gguf")


def test_each_kind_has_its_provider_and_nothing_is_connected_for_it() -> None:
    providers = open_providers([CLAUDE, OLLAMA, SMALL], {}, SystemIds())
    kinds = {name: type(one) for name, one in providers.items()}
    assert kinds == {"claude": AnthropicProvider, "ollama": OpenAiProvider, "small": LocalProvider}
