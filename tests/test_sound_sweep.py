"""The sound of a message goes with its message, whoever took that away."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.conversation import ToolCall, ToolResult
from atlas.sound_sweep import sweep
from atlas.speech.message_sounds import MessageSounds
from tests.scripted_tools import ScriptedTools
from tests.scripted_vad import voice

GONE, STORED, WAITING = "message_00000000", "message_11111111", "broadcast_22222222"


@pytest.mark.parametrize("away", [False, True])
async def test_what_has_no_message_any_more_is_deleted_and_nothing_while_the_tools_are_away(
    tmp_path: Any, away: bool
) -> None:
    sounds = MessageSounds(tmp_path)
    for id in (GONE, STORED, WAITING):
        await sounds.put(id, voice(0.5))

    class Shelf(ScriptedTools):
        async def call(self, call: ToolCall, *more: Any, **others: Any) -> ToolResult:
            stored = {"stored": [STORED]} if call.name == "messages.due" else {"due": [{"id": WAITING}]}
            return ToolResult(call.id, not away, "", stored)

    await sweep(sounds, Shelf([]))
    assert await sounds.ids("message") == ({GONE, STORED} if away else {STORED})
    assert await sounds.ids("broadcast") == {WAITING}
