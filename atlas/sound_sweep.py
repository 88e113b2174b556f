"""Deletes the sounds of messages that are gone, whoever deleted them, also those of a house that died in between."""

from __future__ import annotations

import logging

import anyio

from atlas.conversation import HOUSE, ToolCall, fresh_id
from atlas.errors import StoreError
from atlas.mcp.tools import Tools
from atlas.own_voice import PASSES_ON
from atlas.speech.message_sounds import MessageSounds

EVERY_SECONDS = 10.0  # who deletes a message by voice has its sound deleted so much later at most
log = logging.getLogger("atlas")


async def sweep_sounds(sounds: MessageSounds, tools: Tools) -> None:
    """Delete the sounds of messages that are gone, now and every few seconds, until cancelled."""
    while True:
        await sweep(sounds, tools)
        await anyio.sleep(EVERY_SECONDS)


async def sweep(sounds: MessageSounds, tools: Tools) -> None:
    """Delete the sounds of messages that are gone, as far as the tool server knows now."""
    for tool, kind in PASSES_ON.items():
        try:
            await _sweep(sounds, tools, f"{tool.partition('.')[0]}.due", kind)
        except StoreError as trouble:
            log.warning("the sound of a message that is gone stays for now: %s", trouble)


async def _sweep(sounds: MessageSounds, tools: Tools, due: str, kind: str) -> None:
    # Looked at first: what comes after has a message that is not among these ids yet.
    present = await sounds.ids(kind)
    if not present:
        return
    result = await tools.call(ToolCall(fresh_id("call"), due, {}), HOUSE, "")
    if result.ok:
        stored = set(result.data.get("stored", ())) | {str(one["id"]) for one in result.data.get("due", ())}
        for id in present - stored:
            await sounds.drop(id)
