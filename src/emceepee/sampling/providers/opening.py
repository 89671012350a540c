"""Providers made of their definitions.

The one rule: a key is read from the environment here and handed to the one who sends it; nothing else ever has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emceepee.runtime.ids import Ids
from emceepee.sampling.provider import Provider
from emceepee.sampling.providers.anthropic import AnthropicProvider
from emceepee.sampling.providers.definition import ProviderDefinition
from emceepee.sampling.providers.local import LocalProvider
from emceepee.sampling.providers.openai import OpenAiProvider


def open_provider(definition: ProviderDefinition, environment: Mapping[str, str], ids: Ids) -> Provider:
    """Nothing is imported or connected before the first request."""
    variable = definition.key_variable()
    key = environment.get(variable) if variable is not None else None
    match definition.kind:
        case "anthropic":
            return AnthropicProvider(key, definition.base_url)
        case "openai":
            return OpenAiProvider(key, definition.base_url)
        case "local":
            return LocalProvider(definition, ids)


def open_providers(
    definitions: Iterable[ProviderDefinition], environment: Mapping[str, str], ids: Ids
) -> dict[str, Provider]:
    return {definition.name: open_provider(definition, environment, ids) for definition in definitions}
