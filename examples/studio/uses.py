"""Five things to ask a model about music: what it is like, in keywords, who could play it, why something went wrong,
and what to tell a machine that makes sound.

They are small helpers for any server. Each question holds a description of the music, because the model sees nothing
else of it.

The one rule: an answer is a gift: without a model, or when it says nothing of use, the result is None and no error.
"""

from __future__ import annotations

import re

from emceepee.tools import AskFailed, SamplingMessage, SamplingRequest, ToolContext

_MUSICIAN = "You are a musician. Answer briefly and concretely, from the facts given, without mentioning these words."
_KEYWORDS = 5


async def analysis(ctx: ToolContext, described: str) -> str | None:
    """Mood and characteristics, in a few sentences."""
    question = f"Describe the mood and characteristics of this piece in two or three sentences.\n\n{described}"
    return await _ask(ctx, question, 200)


async def vibe(ctx: ToolContext, described: str) -> list[str] | None:
    """Three to five keywords for the mood."""
    question = (
        "Describe the mood of this clip in 3 to 5 keywords, separated by commas. Say nothing but the keywords.\n\n"
        + described
    )
    said = await _ask(ctx, question, 40)
    return keywords(said) if said is not None else None


async def instruments(ctx: ToolContext, described: str) -> list[str] | None:
    """Who could join a bass line."""
    question = (
        "Given this bass line, suggest up to five instruments that would complement it, one a line, each with a short "
        f"reason.\n\n{described}"
    )
    said = await _ask(ctx, question, 200)
    return lines(said) if said is not None else None


async def why_it_failed(ctx: ToolContext, wanted: str, error: str) -> str | None:
    """What may have been wrong with a wish, and what to try."""
    question = f"A music generator was asked for this:\n{wanted}\n\nIt failed with: {error}\n\nWhy, and what to try?"
    return await _ask(ctx, question, 150)


async def sound_prompt(ctx: ToolContext, described: str, analysed: str | None) -> str | None:
    """What to tell a machine that makes sound of words."""
    known = f"{described}\n\nWhat a listener said: {analysed}" if analysed else described
    question = (
        "Write a prompt of one sentence for a text-to-music generator that should make something like this clip: "
        f"genre, instruments, tempo, mood. Say nothing but the prompt.\n\n{known}"
    )
    return await _ask(ctx, question, 120)


async def _ask(ctx: ToolContext, question: str, most: int) -> str | None:
    if ctx.sampler is None:
        return None
    request = SamplingRequest(messages=[SamplingMessage.user(question)], system_prompt=_MUSICIAN, max_tokens=most)
    try:
        answer = await ctx.sampler.sample(request)
        return answer.as_text().strip() or None
    except (AskFailed, ValueError) as failed:
        ctx.log.warning(f"no answer from the model: {failed}")
        return None


def keywords(said: str) -> list[str] | None:
    """At most five, whatever a model wrote around them."""
    words = [re.sub(r"^[\s\-*\d.)]+|[\s.\"']+$", "", part).lower() for part in re.split(r"[,;\n]", said)]
    found = list(dict.fromkeys(word for word in words if 1 < len(word) <= 30))
    return found[:_KEYWORDS] or None


def lines(said: str) -> list[str] | None:
    found = [re.sub(r"^[\s\-*\d.)]+", "", line).strip() for line in said.splitlines()]
    return [line[:200] for line in found if line][:_KEYWORDS] or None
