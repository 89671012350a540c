"""How many tokens a text costs a model, by the encoding o200k_base."""

from __future__ import annotations

from functools import cache

from splintr import Tokenizer


@cache
def _encoding() -> Tokenizer:
    return Tokenizer.from_pretrained("o200k_base")


def tokens(text: str) -> int:
    return len(_encoding().encode(text))
