"""Tools written in Python, as a server inside the gateway. What an author needs is exported here and nowhere else.

The walk-through with examples is `docs/local-tools.md`.
"""

from emceepee.sampling.content import AudioContent as AudioContent
from emceepee.sampling.content import ImageContent as ImageContent
from emceepee.sampling.content import TextContent as TextContent
from emceepee.sampling.request import ModelHint as ModelHint
from emceepee.sampling.request import ModelPreferences as ModelPreferences
from emceepee.sampling.request import SamplingMessage as SamplingMessage
from emceepee.sampling.request import SamplingRequest as SamplingRequest
from emceepee.sampling.response import SamplingResponse as SamplingResponse
from emceepee.tools.context import Elicitor as Elicitor
from emceepee.tools.context import Log as Log
from emceepee.tools.context import Sampler as Sampler
from emceepee.tools.context import ToolContext as ToolContext
from emceepee.tools.faults import AskFailed as AskFailed
from emceepee.tools.faults import AskTimeout as AskTimeout
from emceepee.tools.faults import ChannelClosed as ChannelClosed
from emceepee.tools.faults import Malformed as Malformed
from emceepee.tools.faults import NotSupported as NotSupported
from emceepee.tools.faults import Refused as Refused
from emceepee.tools.faults import RemoteCancelled as RemoteCancelled
from emceepee.tools.faults import ToolError as ToolError
from emceepee.tools.local_server import LocalServer as LocalServer
from emceepee.tools.tool import ToolResult as ToolResult
