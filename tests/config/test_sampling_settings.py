"""Models, providers and their rules as a file gives them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emceepee.config.jsonc import read
from emceepee.config.problems import Problem, Report
from emceepee.config.sampling_settings import read_sampling
from emceepee.sampling.settings import OwnRules, SamplingOptions

SMALL = {"name": "small", "provider": "own"}
OWN = {"own": {"kind": "openai", "base_url": "http://127.0.0.1:11434/v1"}}


def sampling(value: Any, environment: dict[str, str] | None = None) -> tuple[SamplingOptions | None, list[Problem]]:
    document = read(json.dumps(value).encode())
    report = Report("mcp.json", document)
    return read_sampling(document.root, "emceepee.sampling", report, environment or {}), report.problems


def test_nothing_given_is_the_defaults() -> None:
    assert sampling({}) == (SamplingOptions(), [])


def test_all_can_be_given_in_either_spelling() -> None:
    options, problems = sampling(
        {
            "providers": {
                "claude": {"kind": "anthropic", "keyEnv": "MINE"},
                "ollama": {"kind": "openai", "baseUrl": "${OLLAMA:-http://127.0.0.1:11434/v1}"},
                "here": {"kind": "local", "path": "/models/m.gguf", "context": 8192, "threads": 4},
            },
            "models": [
                {
                    "name": "large",
                    "provider": "claude",
                    "cost": 1,
                    "speed": 0.2,
                    "intelligence": 0.9,
                    "takes": ["image", "tools"],
                    "aliases": ["sonnet"],
                    "priceIn": 3,
                    "price_out": 15.5,
                    "lacks": ["temperature"],
                },
                {"name": "tiny", "provider": "here"},
            ],
            "default": "tiny",
            "strictHints": True,
            "answers": "always",
            "approve": "always",
            "approver": "terminal",
            "review": False,
            "servers": {"studio": {"approve": "ask"}},
            "workspaces": {"night": {"answers": "never"}},
            "rules": [{"name": "no numbers", "pattern": "[0-9]{4,}", "replacement": "####"}],
            "audit": {"file": "audit.db", "max_records": 10, "maxBytes": 100, "prompts": True},
            "limits": {"burst": 2, "perMinute": 6.5, "budget_calls": 7, "retries": 0, "disclose": "thisServer"},
        },
        {"MINE": "sk-1"},
    )
    assert [problem for problem in problems if problem.severity == "error"] == []
    assert options is not None
    assert [provider.key_variable() for provider in options.providers] == ["MINE", None, None]
    assert options.providers[1].base_url == "http://127.0.0.1:11434/v1"
    assert (options.providers[2].context, options.providers[2].threads) == (8192, 4)
    large = options.models[0]
    assert (large.takes, large.aliases, large.lacks) == ({"image", "tools"}, ("sonnet",), {"temperature"})
    assert (large.cost, large.price_in, large.price_out) == (1.0, 3.0, 15.5)
    assert (options.default, options.strict_hints, options.review, options.approver) == (
        "tiny",
        True,
        False,
        "terminal",
    )
    assert options.servers == {"studio": OwnRules(approve="ask")}
    assert options.workspaces == {"night": OwnRules(answers="never")}
    assert options.rules[0].pattern.search("call 555123")
    assert (options.audit.file, options.audit.max_records, options.audit.prompts) == ("audit.db", 10, True)
    limits = options.limits
    assert (limits.rate.burst, limits.rate.per_minute, limits.budget.calls) == (2, 6.5, 7)
    assert (limits.retries, limits.disclose, limits.model_timeout) == (0, "thisServer", 60.0)


@pytest.mark.parametrize(
    ("value", "where", "said"),
    [
        ([], "", "map of settings"),
        ({"answer": "always"}, "answer", "no such setting"),
        ({"answers": "sometimes"}, "answers", "one of never, otherwise, always"),
        ({"approve": True}, "approve", "one of never, ask, always"),
        ({"providers": {"x": {"kind": "claude"}}}, "providers.x.kind", "one of anthropic, openai, local"),
        ({"providers": {"x": {}}}, "providers.x", "'kind' is missing"),
        ({"providers": {"x": {"kind": "openai", "key": "sk-1"}}}, "providers.x.key", "no such setting"),
        ({"providers": {"x": {"kind": "openai", "base_url": "ftp://x"}}}, "providers.x.base_url", "http or https"),
        ({"providers": []}, "providers", "a map of names"),
        ({"models": {}}, "models", "a list"),
        ({"models": [{"provider": "own"}]}, "models[0]", "'name' is missing"),
        ({"models": [SMALL]}, "models[0]", "not among 'providers'"),
        ({"models": [SMALL, SMALL], "providers": OWN}, "models[1]", "there already"),
        ({"models": [SMALL | {"cost": 2}], "providers": OWN}, "models[0].cost", "from 0 to 1"),
        ({"models": [SMALL | {"takes": ["video"]}], "providers": OWN}, "models[0].takes", "no 'video'"),
        (
            {"models": [SMALL | {"takes": ["image"]}], "providers": {"own": {"kind": "local"}}},
            "models[0]",
            "cannot carry image",
        ),
        ({"default": "small"}, "default", "no such model"),
        ({"servers": {"s": {"answers": "no"}}}, "servers.s.answers", "one of never"),
        ({"rules": [{"name": "n", "pattern": "("}]}, "rules[0].pattern", "no regular expression"),
        ({"limits": {"burst": 1.5}}, "limits.burst", "a whole number"),
        ({"limits": {"burst": 0}}, "limits.burst", "from 1"),
        ({"limits": 5}, "limits", "map of settings"),
        ({"audit": {}}, "audit", "'file' is missing"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_nothing_is_used(value: Any, where: str, said: str) -> None:
    options, problems = sampling(value)
    assert options is None
    errors = [problem for problem in problems if problem.severity == "error"]
    place = f"emceepee.sampling.{where}" if where else "emceepee.sampling"
    assert any(problem.where == place and said in f"{problem.what} {problem.cure}" for problem in errors), errors


def test_a_key_that_is_missing_is_worth_a_note_and_never_shown() -> None:
    value = {"providers": {"claude": {"kind": "anthropic"}}}
    options, (problem,) = sampling(value)
    assert (problem.severity, "ANTHROPIC_API_KEY" in problem.what) == ("note", True)
    _, problems = sampling(value, {"ANTHROPIC_API_KEY": "sk-secret"})
    assert problems == []
    assert "sk-secret" not in repr(options)
