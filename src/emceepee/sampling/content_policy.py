"""What an answer must not contain: rules that stop it or change it before anybody sees it. Pure.

The one rule: a change is visible, in the stop reason `contentFilter`.
"""

from __future__ import annotations

from collections.abc import Sequence

from emceepee.sampling.content import Json
from emceepee.sampling.content_rule import ContentRule
from emceepee.sampling.refusals import answer_rejected
from emceepee.sampling.response import CONTENT_FILTER


def filtered(answer: Json, rules: Sequence[ContentRule]) -> Json:
    """The answer, changed where a rule says so. Raises `SamplingRefused` where one stops it."""
    content = answer["content"]
    several = isinstance(content, list)
    blocks = [_filtered_block(block, rules) for block in (content if several else [content])]
    if blocks == (content if several else [content]):
        return answer
    return {**answer, "content": blocks if several else blocks[0], "stopReason": CONTENT_FILTER}


def _filtered_block(block: Json, rules: Sequence[ContentRule]) -> Json:
    if block.get("type") != "text":
        return block
    text = block["text"]
    for rule in rules:
        if rule.replacement is None and rule.pattern.search(text):
            raise answer_rejected(f"Stopped by the content policy '{rule.name}'", "policy")
        if rule.replacement is not None:
            # What the operator wrote is text, in which a backslash means nothing.
            text = rule.pattern.sub(rule.replacement.replace("\\", r"\\"), text)
    return block if text == block["text"] else {**block, "text": text}
