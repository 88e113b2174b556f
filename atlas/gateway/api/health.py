"""Health: how the parts of the house are, and what `atlas doctor` finds, with what to do about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import anyio
from fastapi import Request
from pydantic import Field

from atlas.config import Config
from atlas.errors import EngineError
from atlas.gateway.api.caller import AnyCaller, OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply

DOCTOR_SECONDS = 120.0  # it reads gigabytes of models, to see that they are whole
router = resource("health", asks=False)


class PartItem(ApiReply):
    """One part of the house."""

    name: str
    ok: bool
    what: str
    hint: str = Field(description="What to do; empty when it is well")


class HealthReply(ApiReply):
    """How the house is."""

    ok: bool
    version: str
    uptime_seconds: int
    parts: list[PartItem]


class FindingItem(ApiReply):
    """One thing that the doctor looked at."""

    what: str
    seen: str
    advice: str = Field(description="What to do; empty when it is well")
    well: bool


class FindingsReply(ApiReply):
    """What the doctor found."""

    findings: list[FindingItem]
    well: bool


@router.get("")
async def show_health(caller: AnyCaller) -> HealthReply:
    """Tell how every part of the house is."""
    state: dict[str, Any] = dict(await caller.house.health())
    parts = [PartItem(name=name, **part) for name, part in state["parts"].items()]
    ok = state["status"] == "ok"
    return HealthReply(ok=ok, version=state["version"], uptime_seconds=state["uptime_seconds"], parts=parts)


@router.post("/findings")
async def examine(request: Request, caller: OwnerCaller) -> FindingsReply:
    """Have the doctor look at everything; this takes a while, and one looks at a time."""
    async with request.app.state.doctor:
        return FindingsReply.model_validate(await _doctor(caller.house.config))


async def _doctor(config: Config) -> Any:
    """Return what `atlas doctor` finds: a process of its own, for it reads whole models and waits for parts."""
    file = {"ATLAS_CONFIG": str(config.file)} if config.file else {}
    environment = {**os.environ, **file, "ATLAS_DATA": str(config.data)}
    command = [sys.executable, "-m", "atlas.cli.main", "doctor", "--json"]
    with anyio.move_on_after(DOCTOR_SECONDS):
        done = await anyio.run_process(command, check=False, env=environment, stderr=subprocess.DEVNULL)
        try:
            return json.loads(done.stdout)
        except ValueError as trouble:
            raise EngineError("the doctor said nothing", hint="run `atlas doctor`") from trouble
    raise EngineError("the doctor took too long", hint="run `atlas doctor`")
