"""Load: how busy the machine is, for plots that are drawn while somebody looks."""

from __future__ import annotations

from pydantic import Field

from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Since
from atlas.models.machine_load import EVERY_SECONDS

router = resource("load", asks=False)


class CardItem(ApiReply):
    """One graphics card."""

    name: str
    busy: float | None = Field(description="Share of the time, 0 to 1; null where the driver does not tell")
    used_bytes: int
    memory_bytes: int


class LoadItem(ApiReply):
    """How busy the machine was just before a moment."""

    at: float = Field(description="Seconds since 1970")
    processor: float = Field(description="Share of all cores, 0 to 1")
    used_bytes: int = Field(description="Memory that is not available to others")
    cards: list[CardItem] = Field(description="Empty where there are none, and until somebody has looked for a moment")
    tokens_per_second: dict[str, float] = Field(description="By model, while it spoke; 0 where it did not")


class LoadReply(ApiReply):
    """The last minutes, the oldest first."""

    every_seconds: float
    cores: int
    memory_bytes: int
    samples: list[LoadItem]


@router.get("")
async def show_load(caller: OwnerCaller, since: Since = None) -> LoadReply:
    """Show how busy the machine was in the last minutes, or since a moment."""
    load = caller.house.load
    samples = load.since(since or 0.0) if load else []
    return LoadReply(
        every_seconds=EVERY_SECONDS,
        cores=load.cores if load else 0,
        memory_bytes=load.memory_bytes if load else 0,
        samples=[LoadItem.model_validate(sample) for sample in samples],
    )
