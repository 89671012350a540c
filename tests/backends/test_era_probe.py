"""The table of era-bridging 1.4, a row a test case: what an answer, or its absence, says of a server's era."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from emceepee.backends.era_probe import LEGACY_BELIEVED_SECONDS, Verdict, Verdicts, judge, judge_fault
from emceepee.backends.transport import HttpRefusal
from emceepee.errors import BackendAuth, BackendTimeout, BackendUnavailable
from emceepee.protocol.messages import ErrorObject, Failure, Result
from tests.support.fake_clock import FakeClock


def result(**fields: object) -> Result:
    return Result("g1", Raw(msgspec.json.encode({"resultType": "complete", "capabilities": {}} | fields)))


def failure(code: int, data: object = None) -> Failure:
    return Failure("g1", ErrorObject(code, "no", None if data is None else Raw(msgspec.json.encode(data))))


@pytest.mark.parametrize(
    ("answer", "era"),
    [
        (result(supportedVersions=["2026-07-28"]), "modern"),
        (result(supportedVersions=["2027-01-01", "2026-07-28", "2025-11-25"]), "modern"),
        (result(supportedVersions=["2025-11-25"]), "legacy"),
        (result(), "legacy"),
        (failure(-32022, {"supported": ["2026-07-28", "2027-01-01"], "requested": "2026-07-28"}), "again"),
        (failure(-32022, {"supported": ["2025-11-25"]}), "legacy"),
        (failure(-32022), "legacy"),
        (failure(-32022, {"supported": "2026-07-28"}), "legacy"),
        (failure(-32022, {"supported": ["2027-01-01"]}), "incompatible"),
        (failure(-32601), "legacy"),
        (failure(-32602), "legacy"),
        (failure(-32603), "legacy"),
    ],
)
@pytest.mark.shows("EB-B7")
def test_what_a_server_answers_tells_its_era(answer: Result | Failure, era: str) -> None:
    assert judge(answer).era == era


def test_a_server_that_refuses_the_revision_it_lists_is_asked_only_once_more() -> None:
    assert judge(failure(-32022, {"supported": ["2026-07-28"]}), tried_again=True).era == "incompatible"


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_bare_refusal_of_the_probe_is_legacy(status: int) -> None:
    verdict = judge_fault(HttpRefusal("files", status, "nope"), over_pipe=False)
    assert verdict is not None
    assert verdict.era == "legacy"


@pytest.mark.shows("EB-B2", "EB-B3")
@pytest.mark.parametrize(
    "fault",
    [
        BackendAuth("files", "wants credentials"),
        BackendUnavailable("files", "HTTP 503"),
        BackendTimeout("files", "silent"),
        HttpRefusal("files", 500, ""),
        HttpRefusal("files", 403, ""),
    ],
)
def test_an_auth_problem_or_an_outage_is_never_evidence_over_http(fault: Exception) -> None:
    assert judge_fault(fault, over_pipe=False) is None


@pytest.mark.parametrize("fault", [BackendTimeout("files", "silent"), BackendUnavailable("files", "it exited")])
def test_silence_and_exit_mean_legacy_over_a_pipe(fault: BackendTimeout | BackendUnavailable) -> None:
    verdict = judge_fault(fault, over_pipe=True)
    assert verdict is not None
    assert verdict.era == "legacy"


async def test_a_legacy_verdict_is_believed_for_an_hour_and_a_modern_one_until_told_otherwise() -> None:
    clock = FakeClock()
    verdicts = Verdicts(clock)
    verdicts.put("old", Verdict("legacy"))
    verdicts.put("new", Verdict("modern"))
    await clock.advance(LEGACY_BELIEVED_SECONDS - 1)
    assert verdicts.get("old") is not None
    assert not verdicts.expired("old")
    await clock.advance(1)
    assert verdicts.get("old") is None
    assert verdicts.expired("old")
    await clock.advance(10 * LEGACY_BELIEVED_SECONDS)
    assert verdicts.get("new") is not None
    verdicts.forget("new")
    assert verdicts.get("new") is None
    assert not verdicts.expired("new")


class Drawer(dict[str, bytes]):
    """Implements `EraStore`."""

    def put(self, name: str, body: bytes) -> bool:
        self[name] = body
        return True

    def remove(self, name: str) -> None:
        self.pop(name, None)


async def test_a_legacy_verdict_is_believed_in_the_next_run_for_what_is_left_of_its_hour() -> None:
    clock, drawer = FakeClock(), Drawer()

    def run(of: str = "that server") -> Verdicts:
        verdicts = Verdicts(clock)
        verdicts.keep_in(drawer)
        verdicts.introduce("a", of)
        return verdicts

    first = run()
    assert first.get("a") is None
    first.put("a", Verdict("legacy"))
    await clock.advance(LEGACY_BELIEVED_SECONDS - 10)
    second = run()
    assert second.get("a") == Verdict("legacy")
    await clock.advance(11)
    assert second.expired("a")
    assert run().get("a") is None
    first.put("a", Verdict("legacy"))
    assert run("another server of that name").get("a") is None
    assert run().get("a") is not None
    first.put("a", Verdict("modern"))
    assert drawer == {}, "a modern one is asked anyway"
    drawer["a"] = b"\xff rubbish"
    assert run().get("a") is None
    run().forget("a")
    assert drawer == {}
