"""Models, providers and their rules as a file gives them, under `emceepee.sampling`.

The one rule: a rule that is misspelt costs the file, because it would have kept something in; and a key has no place in
a file, only the name of the variable that holds it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from emceepee.config.fields import Fields, a
from emceepee.config.jsonc import Node
from emceepee.config.problems import Report
from emceepee.sampling.content_rule import ContentRule
from emceepee.sampling.model import NEEDS, OPTIONS, Model
from emceepee.sampling.providers.definition import CARRIES, KINDS, ProviderDefinition, missing
from emceepee.sampling.settings import (
    ANSWER_RULES,
    APPROVE_RULES,
    APPROVERS,
    DISCLOSURES,
    AuditSettings,
    BudgetSettings,
    OwnRules,
    RateSettings,
    SamplingOptions,
    SamplingSettings,
)

_T = TypeVar("_T", bound=str)

_MOST = 1e12


def read_sampling(node: Node, where: str, report: Report, environment: Mapping[str, str]) -> SamplingOptions | None:
    """None after mistakes have been reported."""
    before = report.errors
    section = _section(node, where, report, environment)
    if section is None:
        return None
    options = _options(section)
    section.no_more()
    return options if report.errors == before else None


def _options(section: _Section) -> SamplingOptions:
    plain = SamplingOptions()
    providers = [_provider(one) for one in section.named("providers")]
    models = [_model(one) for one in section.listed("models")]
    options = SamplingOptions(
        providers=tuple(providers),
        models=tuple(model for model in models if model is not None),
        default=section.said("default"),
        strict_hints=bool(section.yes("strict_hints")),
        answers=section.among("answers", ANSWER_RULES) or plain.answers,
        approve=section.among("approve", APPROVE_RULES) or plain.approve,
        approver=section.among("approver", APPROVERS) or plain.approver,
        review=section.yes("review") is not False,
        servers={one.name: _own_rules(one) for one in section.named("servers")},
        workspaces={one.name: _own_rules(one) for one in section.named("workspaces")},
        rules=tuple(rule for one in section.listed("rules") if (rule := _rule(one)) is not None),
        audit=_audit(section),
        limits=_limits(section),
    )
    _compare(section, options)
    return options


def _provider(section: _Section) -> ProviderDefinition:
    plain = ProviderDefinition(section.name, "openai")
    definition = ProviderDefinition(
        section.name,
        section.among("kind", KINDS, needed=True) or plain.kind,
        section.said("base_url"),
        section.said("key_env"),
        section.said("path"),
        section.whole("context", plain.context),
        section.whole("threads", plain.threads),
    )
    if definition.base_url is not None and not re.match(r"https?://[^/\s]", definition.base_url):
        section.wrong(section.seen["base_url"], "base_url", "this has to be an http or https address")
    section.no_more()
    if lack := missing(definition, section.environment):
        section.report.note(section.node, section.where, lack.what, lack.cure)
    return definition


def _model(section: _Section) -> Model | None:
    plain = Model("", "")
    name, provider = section.said("name", needed=True), section.said("provider", needed=True)
    model = Model(
        name or "",
        provider or "",
        section.share("cost", plain.cost),
        section.share("speed", plain.speed),
        section.share("intelligence", plain.intelligence),
        frozenset(section.several("takes", NEEDS)),
        tuple(section.texts(section.find("aliases"), "aliases")),
        section.figure("price_in", 0.0),
        section.figure("price_out", 0.0),
        frozenset(section.several("lacks", OPTIONS)),
    )
    section.no_more()
    return model if name and provider else None


def _own_rules(section: _Section) -> OwnRules:
    rules = OwnRules(section.among("answers", ANSWER_RULES), section.among("approve", APPROVE_RULES))
    section.no_more()
    return rules


def _rule(section: _Section) -> ContentRule | None:
    name, pattern = section.said("name", needed=True), section.said("pattern", needed=True)
    replacement = section.text(section.find("replacement"), "replacement")
    section.no_more()
    try:
        return ContentRule(name or "", re.compile(pattern or ""), replacement)
    except re.error as error:
        section.wrong(section.seen["pattern"], "pattern", f"this is no regular expression: {error.msg}")
        return None


def _audit(section: _Section) -> AuditSettings:
    plain = AuditSettings()
    node = section.find("audit")
    inner = None if node is None else _section(node, section.path("audit"), section.report, section.environment)
    if inner is None:
        return plain
    audit = AuditSettings(
        inner.said("file", needed=True),
        inner.whole("max_bytes", plain.max_bytes),
        inner.whole("max_records", plain.max_records),
        bool(inner.yes("prompts")),
    )
    inner.no_more()
    return audit


def _limits(section: _Section) -> SamplingSettings:
    plain = SamplingSettings()
    node = section.find("limits")
    inner = None if node is None else _section(node, section.path("limits"), section.report, section.environment)
    if inner is None:
        return plain
    limits = SamplingSettings(
        rate=RateSettings(inner.whole("burst", plain.rate.burst), inner.figure("per_minute", plain.rate.per_minute)),
        budget=BudgetSettings(
            inner.whole("budget_calls", plain.budget.calls),
            inner.whole("budget_tokens", plain.budget.tokens),
            inner.figure("budget_seconds", plain.budget.window),
        ),
        max_temperature=inner.figure("max_temperature", plain.max_temperature),
        approval_timeout=inner.figure("approval_timeout", plain.approval_timeout),
        model_timeout=inner.figure("model_timeout", plain.model_timeout),
        retries=inner.whole("retries", plain.retries, least=0),
        max_running=inner.whole("max_running", plain.max_running),
        disclose=inner.among("disclose", DISCLOSURES) or plain.disclose,
        max_context=inner.whole("max_context", plain.max_context),
    )
    inner.no_more()
    return limits


def _compare(section: _Section, options: SamplingOptions) -> None:
    """What is right by itself and does not fit the rest."""
    kinds = {provider.name: provider.kind for provider in options.providers}
    seen: set[str] = set()
    for index, model in enumerate(options.models):
        where = f"models[{index}]"
        if model.provider not in kinds:
            cure = f"there is {', '.join(kinds)}" if kinds else "describe it under 'providers'"
            section.wrong(section.node, where, "its provider is not among 'providers'", cure)
        elif more := model.takes - CARRIES[kinds[model.provider]]:
            what = f"a provider of kind {kinds[model.provider]} cannot carry {', '.join(sorted(more))}"
            section.wrong(section.node, where, what, "leave that out of 'takes'")
        if model.name in seen:
            section.wrong(section.node, where, "a model of this name is there already")
        seen.add(model.name)
    if options.default is not None and options.default not in seen:
        section.wrong(section.seen["default"], "default", "there is no such model among 'models'")


# -- reading


class _Section(Fields):
    """One map of settings; each in the spelling of the others, or in camelCase."""

    def __init__(self, node: Node, where: str, report: Report, environment: Mapping[str, str], name: str = "") -> None:
        super().__init__(node, where, report, environment)
        self.name = name
        self.known: list[str] = []

    def find(self, name: str) -> Node | None:
        self.known.append(name)
        head, *rest = name.split("_")
        return self.take(*dict.fromkeys((name, head + "".join(map(str.capitalize, rest)))))

    def no_more(self) -> None:
        """Each setting has been looked for: what is left is a mistake."""
        for key in self.rest():
            near = difflib.get_close_matches(key, self.known, 1)
            cure = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(self.known)}"
            self.report.at_key(self.node.members[key], f"{self.where}.{key}", "there is no such setting", cure)

    def said(self, name: str, needed: bool = False) -> str | None:
        value = self.text(self.find(name), name)
        if needed and not value and name not in self.seen:
            self.report.error(self.node, self.where, f"'{name}' is missing")
        return value or None

    def among(self, name: str, choices: Sequence[_T], needed: bool = False) -> _T | None:
        value = self.said(name, needed)
        found = next((choice for choice in choices if choice == value), None)
        if value is not None and found is None:
            self.wrong(self.seen[name], name, f"this has to be one of {', '.join(choices)}")
        return found

    def several(self, name: str, choices: Sequence[_T]) -> list[_T]:
        node = self.find(name)
        given = self.texts(node, name)
        if node is not None and (unknown := set(given) - set(choices)):
            self.wrong(node, name, f"there is no '{min(unknown):.30}' here", f"there is {', '.join(choices)}")
        return [choice for choice in choices if choice in given]

    def yes(self, name: str) -> bool | None:
        return self.truth(self.find(name), name)

    def figure(self, name: str, default: float, least: float = 0.0, most: float = _MOST) -> float:
        node = self.find(name)
        value = self.number(node, name)
        if node is None or value is None:
            return default
        if not least <= value <= most:
            self.wrong(node, name, f"this has to be from {least:g} to {most:g}")
        return value

    def share(self, name: str, default: float) -> float:
        return self.figure(name, default, 0.0, 1.0)

    def whole(self, name: str, default: int, least: int = 1) -> int:
        value = self.figure(name, default, least)
        if value != int(value):
            self.wrong(self.seen[name], name, "this has to be a whole number")
        return int(value)

    def named(self, name: str) -> list[_Section]:
        node = self.find(name)
        if node is not None and node.kind != "object":
            self.wrong(node, name, f"this has to be a map of names, not {a(node.kind)}")
        members: Mapping[str, Node] = node.members if node is not None and node.kind == "object" else {}
        return self._each((f"{name}.{key}", member, key) for key, member in members.items())

    def listed(self, name: str) -> list[_Section]:
        node = self.find(name)
        if node is not None and node.kind != "array":
            self.wrong(node, name, f"this has to be a list, not {a(node.kind)}")
        items = node.items if node is not None and node.kind == "array" else []
        return self._each((f"{name}[{index}]", item, "") for index, item in enumerate(items))

    def _each(self, found: Any) -> list[_Section]:
        made = [
            _section(node, f"{self.where}.{where}", self.report, self.environment, key) for where, node, key in found
        ]
        return [one for one in made if one is not None]


def _section(node: Node, where: str, report: Report, environment: Mapping[str, str], name: str = "") -> _Section | None:
    if node.kind == "object":
        return _Section(node, where, report, environment, name)
    report.error(node, where, f"this has to be a map of settings, not {a(node.kind)}")
    return None
