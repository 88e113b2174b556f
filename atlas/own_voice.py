"""Stores the sound of a turn with the words that it passes on to others, so that they hear the person's own voice.

Where a person has to say yes first, the sound is that of the turn in which it was asked for, and never that of the yes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from atlas.audio import AudioChunk
from atlas.conversation import Actor, ToolCall, ToolResult, Turn
from atlas.errors import StoreError
from atlas.events import Emit, Event, ToolFinished, ToolStarted
from atlas.latest import Latest
from atlas.speech.message_sounds import MessageSounds

PASSES_ON = {"broadcast.say": "broadcast", "messages.leave": "message"}  # tool → what in its answer has the id
MOST_ASKED = 16  # sounds of calls that wait for a yes: 30 MB at most; the oldest goes first, and is said in words
log = logging.getLogger("atlas")


class OwnVoices:
    """Has what people pass on go out in their own voice. One for the house: a yes comes in a later turn."""

    def __init__(self, sounds: MessageSounds) -> None:
        self._sounds = sounds
        self._asked = Latest[str, AudioChunk | None](MOST_ASKED)  # by the call that waits for a yes, the oldest first

    @contextmanager
    def of(self, turn: Turn, emit: Emit) -> Iterator[Emit]:
        """Give an `emit` that stores the sound of `turn` with what its tools pass on, before it tells of them.

        Nobody is told a message without its sound meanwhile; after the block, however it ends, nothing is waited for.
        """
        begun = set[str]()

        async def tell(event: Event) -> None:
            if isinstance(event, ToolStarted) and event.call.name in PASSES_ON:
                begun.add(event.call.id)
                self._sounds.begin(event.call.id)
            if isinstance(event, ToolFinished) and event.call.name in PASSES_ON:
                try:
                    await self._finished(turn, event.call, event.result)
                finally:
                    self._sounds.end(event.call.id)
            await emit(event)

        try:
            yield tell
        finally:
            for id in begun:
                self._sounds.end(id)

    async def _finished(self, turn: Turn, call: ToolCall, result: ToolResult) -> None:
        key = _key(turn.actor, call)
        if result.ask:
            self._asked.setdefault(key, turn.sound)
            return
        sound = self._asked.pop(key, turn.sound)
        passed_on = result.data.get(PASSES_ON[call.name]) if result.ok else None
        if sound is not None and isinstance(passed_on, dict):
            try:
                await self._sounds.put(str(passed_on["id"]), sound)
            except StoreError as trouble:  # its words are said by the house's voice
                log.warning("a message goes without its sound: %s", trouble)


def _key(actor: Actor, call: ToolCall) -> str:
    """Return what a call has in common with the same call after a yes."""
    return json.dumps([actor.person, actor.device_key, call.name, dict(call.arguments)], sort_keys=True)
