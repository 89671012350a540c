"""A front on the real standard streams, with a fake surface behind it: what tests start as a child."""

from __future__ import annotations

import asyncio

from emceepee.front.pipes import claim_standard_streams, open_input, open_output
from emceepee.front.shop import Shop
from emceepee.front.stdio import StdioFront
from emceepee.runtime.clock import SystemClock
from emceepee.runtime.ids import SystemIds
from emceepee.sessions.directory import Directory
from tests.support.fake_surface import FakeSurface
from tests.support.front_bench import SERVER_INFO


async def main() -> None:
    claimed = claim_standard_streams()
    print("stray")  # noqa: T201 -- that is what must not reach the client
    reader, writer = await open_input(claimed.read_fd), await open_output(claimed.write_fd)
    clock = SystemClock()
    shop = Shop(clock, SERVER_INFO)
    await StdioFront(shop, Directory(clock, SystemIds()), FakeSurface(), reader.read, writer.write).run()
    await shop.tasks.close()
    reader.close()
    await writer.close()


asyncio.run(main())
