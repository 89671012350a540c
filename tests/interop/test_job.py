"""One whole job with nothing but `tools/call`, against server-everything; the document shows what was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.conftest import installed
from tests.interop.job import DOCUMENT, MOST_CALLS, outline, played, shown
from tests.interop.servers import NPM
from tests.support.third_party import npm_folder


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_with_nothing_but_tools_ends_a_job_that_is_slow_and_asks_twice(era: str, tmp_path: Path) -> None:
    installed(npm_folder, *NPM)
    job, (operation, form, sampled) = await played(era, tmp_path)
    assert len(job.calls) <= MOST_CALLS
    assert operation == "Long running operation completed. Duration: 3 seconds, Steps: 3."
    assert "Ada Lovelace" in form
    assert "Agreed to terms: true" in form
    assert "Paris." in sampled
    assert "the-model-that-calls" in sampled
    if era == "legacy":
        document = DOCUMENT.read_text(encoding="utf-8")
        assert outline(shown(document, job)) == outline(document), "python -m tests.interop.job --write"
