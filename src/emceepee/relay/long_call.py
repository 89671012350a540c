"""A call of a client that takes tasks, on the surfaces which are a server's own tools.

The one rule: a client that wants a task has one at once; one that would take it, only when its patience is over or the
server has made one itself.
"""

from __future__ import annotations

from emceepee.relay.job import Job, Mark
from emceepee.relay.middle import Middle
from emceepee.relay.surface import OnNotice
from emceepee.vocabulary.asks import AskProfile
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.outcomes import Answered
from emceepee.vocabulary.tasks import GoesOn


async def carry_long(
    middle: Middle, server: ServerName, call: Call, native: AskProfile, on_notice: OnNotice | None, mark: Mark
) -> Answered | GoesOn:
    """`native` is what its client can be asked itself. Raises as `Calls.carry`, and `ClientFault` for a ttl that is no
    time."""
    scope = call.caller.scope
    workspace = middle.workspaces.at(scope)
    workspace.tasks.ttl(call.task_ttl_ms)
    connection = await middle.reach.connection(server, scope, call.session_asks, call)
    patience = 0.0 if call.tasks == "asks" else middle.settings.promote_after
    job = Job(workspace, server, call, on_notice, middle.news.told, mark)
    job.hear_asks(native, middle.settings.coalesce)
    job.start(middle.calls, connection, patience)
    if await job.wait(patience):
        return job.told()
    return job.goes_on(call.task_ttl_ms)
