"""Health: how the parts of the house are, and what `atlas doctor` finds, with what to do about it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any, Literal

import anyio
import anyio.to_thread
from cryptography import x509
from fastapi import Request
from pydantic import Field

from atlas.config import Config
from atlas.errors import EngineError
from atlas.gateway.api.caller import AnyCaller, OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply
from atlas.gateway.https import SecureListener
from atlas.own_command import own_command
from atlas.own_words import language, own
from atlas.store.backup import failed_backup, last_backup

DOCTOR_SECONDS = 120.0  # it reads gigabytes of models, to see that they are whole
router = resource("health", asks=False)


class PartItem(ApiReply):
    """One part of the house."""

    name: str
    ok: bool
    what: str
    hint: str = Field(description="What to do; of a part that is well, what would be better still")
    log: str = Field(default="", description="The part's own words, in English, where it is not well")
    warming_up: bool = Field(default=False, description="It is not well yet, and will be by itself")


class HealthReply(ApiReply):
    """How the house is."""

    ok: bool
    warming_up: bool = Field(description="Nothing is wrong, but parts of it are still loading")
    version: str
    uptime_seconds: int
    parts: list[PartItem]


class FindingItem(ApiReply):
    """One thing that the doctor looked at."""

    what: str
    seen: str
    advice: str = Field(description="What to do; empty when it is well")
    log: str = Field(default="", description="A part's own words, in English, where it is not well")
    well: bool
    grave: bool = Field(description="Atlas cannot work like that; what is neither well nor grave is to be noted")


class FindingsReply(ApiReply):
    """What the doctor found."""

    findings: list[FindingItem]
    well: bool


class LastBackupItem(ApiReply):
    """Which backup was made last, wherever it lies now."""

    at: float = Field(description="In seconds since 1970")
    file: str
    bytes: int
    secrets: Literal["none", "sealed", "plain"] = Field(description="How keys and passwords lie in it")


class FailedBackupItem(ApiReply):
    """Why the day's backup was not made; it is tried again every hour."""

    at: float = Field(description="In seconds since 1970")
    why: str


class BackupsReply(ApiReply):
    """The last backup; null when none was ever made."""

    last: LastBackupItem | None
    failed: FailedBackupItem | None = Field(description="Null when the day's backup was made, or none is wanted")


class CertificateItem(ApiReply):
    """What https is served with now; a new one takes its place while the house runs."""

    ends_at: float = Field(description="In seconds since 1970")
    address: str = Field(description="What other machines open")
    names: list[str] = Field(description="Names and addresses that it vouches for")
    fingerprint: str = Field(description="SHA-256 of the house's own authority, as people compare it")


class CertificateReply(ApiReply):
    """The certificate; null where the house serves no https."""

    certificate: CertificateItem | None


@router.get("")
async def show_health(caller: AnyCaller) -> HealthReply:
    """Tell how every part of the house is."""
    state: dict[str, Any] = dict(await caller.house.health())
    parts = [_part(name, part) for name, part in state["parts"].items()]
    ok, warming_up = state["status"] == "ok", state["status"] == "warming up"
    return HealthReply(
        ok=ok, warming_up=warming_up, version=state["version"], uptime_seconds=state["uptime_seconds"], parts=parts
    )


def _part(name: str, state: Mapping[str, Any]) -> PartItem:
    if state["ok"]:
        return PartItem(name=name, ok=True, what=state["what"], hint=state.get("hint", ""))
    warming_up = bool(state.get("warming_up"))
    what = own("is warming up") if warming_up else own("does not answer as it should")
    return PartItem(name=name, ok=False, what=what, hint=state["hint"], log=state["what"], warming_up=warming_up)


@router.get("/backup")
async def show_backup(caller: OwnerCaller) -> BackupsReply:
    """Tell when the last backup was made, and where, and why the day's was not."""
    last = await anyio.to_thread.run_sync(last_backup, caller.house.config.data)
    failed = await anyio.to_thread.run_sync(failed_backup, caller.house.config.data)
    return BackupsReply(
        last=LastBackupItem.model_validate(last) if last else None,
        failed=FailedBackupItem.model_validate(failed) if failed else None,
    )


@router.get("/certificate")
async def show_certificate(request: Request, caller: OwnerCaller) -> CertificateReply:
    """Tell with which certificate https is served, for which names, and until when."""
    secure: SecureListener | None = request.app.state.secure
    if not secure:
        return CertificateReply(certificate=None)
    leaf = secure.certificates.leaf
    vouched = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    item = CertificateItem(
        ends_at=leaf.not_valid_after_utc.timestamp(),
        address=secure.address,
        names=[str(one.value) for one in vouched],
        fingerprint=secure.certificates.fingerprint,
    )
    return CertificateReply(certificate=item)


@router.post("/findings")
async def examine(request: Request, caller: OwnerCaller) -> FindingsReply:
    """Have the doctor look at everything; this takes a while, and one looks at a time."""
    async with request.app.state.doctor:
        return FindingsReply.model_validate(await _doctor(caller.house.config))


async def _doctor(config: Config) -> Any:
    """Return what `atlas doctor` finds: a process of its own, for it reads whole models and waits for parts."""
    command, environment = own_command(config, "doctor", "--json", "--language", language())
    with anyio.move_on_after(DOCTOR_SECONDS):
        done = await anyio.run_process(command, check=False, env=environment, stderr=subprocess.DEVNULL)
        try:
            return json.loads(done.stdout)
        except ValueError as trouble:
            raise EngineError("the doctor said nothing", hint="run `atlas doctor`") from trouble
    raise EngineError("the doctor took too long", hint="run `atlas doctor`")
