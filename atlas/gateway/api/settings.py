"""Settings: what holds in this house, and where each value comes from: a file, the environment, or the default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from atlas.config import NAMED_SECTIONS, SECTIONS, Config
from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply

router = resource("settings", asks=False)


class SettingItem(ApiReply):
    """One setting."""

    key: str = Field(description="section.name, as atlas.toml has it")
    value: str | float | bool | list[str] | None
    origin: str = Field(description="The file, the variable of the environment, or `default`")


class SettingsReply(ApiReply):
    """Every setting, and the tools that have settings of their own, which are told to nobody but them."""

    file: str = Field(description="The atlas.toml that was read; empty when there is none")
    data: str
    settings: list[SettingItem]
    tools: list[str]


@router.get("")
async def list_settings(caller: OwnerCaller) -> SettingsReply:
    """List every setting with its value and where that comes from."""
    config = caller.house.config
    return SettingsReply(
        file=str(config.file or ""),
        data=str(config.data),
        settings=list(_settings(config)),
        tools=sorted(config.tool_settings),
    )


def _settings(config: Config) -> Iterator[SettingItem]:
    for section in SECTIONS:
        yield from _of(config, section, getattr(config, section))
    for section in NAMED_SECTIONS:
        for name, piece in getattr(config, section).items():
            yield from _of(config, f"{section}.{name}", piece)


def _of(config: Config, section: str, piece: Any) -> Iterator[SettingItem]:
    assert is_dataclass(piece)
    for one in fields(piece):
        key = f"{section}.{one.name}"
        yield SettingItem(key=key, value=_plain(getattr(piece, one.name)), origin=config.origin(key))


def _plain(value: Any) -> str | float | bool | list[str] | None:
    """Return a value as JSON has it. Secrets are files, and only their names are settings."""
    if isinstance(value, Mapping):
        return [f"{name} = {item}" for name, item in value.items()]
    if isinstance(value, tuple | list):
        return [str(item) for item in value]
    return str(value) if isinstance(value, Path) else value
