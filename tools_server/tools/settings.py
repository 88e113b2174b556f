"""Settings: the gate's word on whether somebody may change those of the house, and the row of it in the record."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, tool
from tools_server.values.language import text as _
from wall.roles import may

Key = Annotated[str, Field(min_length=1, max_length=100)]


@tool("settings.change", risk="change", agents=("house",), limit_seconds=10)
async def change(
    call: Call, names: Annotated[list[Key], Field(min_length=1, max_length=50, description="Which, as section.name")]
) -> Result:
    """Let the owner change settings of the house. The house itself writes them; here that is decided and recorded."""
    if not may(call.actor.role, "manage"):
        raise ToolFailed("denied", _("Only an owner may change the settings of the house."))
    return Result(_("Noted."), {"names": names})
