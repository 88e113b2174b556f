"""Wake words: what woke each room and what nearly did, was it meant, and the threshold that labels propose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import anyio.to_thread
from fastapi import Path
from fastapi.responses import Response
from pydantic import Field

from atlas.errors import RequestError
from atlas.gateway.api.caller import Caller, OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import NAME_CHARACTERS, ApiReply, Body
from atlas.speech.wake_log import WakeEntry, WakeLog
from atlas.speech.wake_proposal import FEWEST_LABELS, HIGHEST, LOWEST, NoProposal, propose
from atlas.speech.wake_rooms import labels_of

router = resource("wake", asks=False)
Room = Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS, description="Of the list, as it is written there")]
Phrase = Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS, description="A wake word, as it is spoken")]
EntryID = Annotated[str, Path(min_length=1, max_length=40)]


class WakeItem(ApiReply):
    """One time that a wake word was heard, or nearly."""

    id: str
    at: float = Field(description="Seconds since 1970")
    phrase: str
    score: float = Field(description="How sure the house was of it: 0 to 1")
    threshold: float = Field(description="How sure it had to be, then")
    woke: bool
    meant: bool | None = Field(description="Was it for the house? null until somebody said")
    sound: bool = Field(description="Whether it may be heard: for a day")


class WakeProposalItem(ApiReply):
    """What the labels of a wake word in a room propose, and what that would have changed of them."""

    threshold: float
    reason: NoProposal = Field(description="Why nothing is proposed; empty where something is")
    heard: int = Field(description="That were meant and missed, and would have woken it")
    lost: int = Field(description="That were meant and woke it, and would have been missed")
    silenced: int = Field(description="That were not meant and woke it, and would not have")
    disturbed: int = Field(description="That were not meant, and would have woken it")


class WakePhraseItem(ApiReply):
    """One wake word of a room."""

    phrase: str
    threshold: float = Field(description="That holds now")
    tuned: bool = Field(description="Whether it was set here; else it is that of the settings, or the wake word's own")
    labels: int = Field(description="Of how many somebody said whether they were meant, in the last month")
    proposal: WakeProposalItem


class WakeRoomItem(ApiReply):
    """One room: its wake words, and what was heard there in the last day, the newest first."""

    room: str
    phrases: list[WakePhraseItem]
    heard: list[WakeItem]


class WakeReply(ApiReply):
    """What is known of wake words."""

    stored: bool = Field(description="Whether what wakes rooms is stored: near_misses in [speech] or [satellite]")
    fewest_labels: int = Field(description="Below which nothing is proposed")
    rooms: list[WakeRoomItem]


class WakeLabel(Body):
    """Was that for the house?"""

    meant: bool


class WakeThreshold(Body):
    """How sure the house has to be of a wake word."""

    threshold: Annotated[float, Field(ge=LOWEST, le=HIGHEST)]


class WakeThresholdReply(ApiReply):
    """What holds now."""

    at_once: bool = Field(description="Whether the room goes by it now; else when it is connected again")


@router.get("")
async def list_wakes(caller: OwnerCaller) -> WakeReply:
    """Tell what woke each room in the last day, what nearly did, and what the labels of a month propose."""
    config, wakes = caller.house.config, caller.house.wakes

    def look() -> list[WakeRoomItem]:
        return [_room(caller, room, wakes.log(room)) for room in wakes.rooms()]

    return WakeReply(
        stored=config.speech.near_misses or (config.satellite.enabled and config.satellite.near_misses),
        fewest_labels=FEWEST_LABELS,
        rooms=await anyio.to_thread.run_sync(look),
    )


@router.get(
    "/{room:path}/{entry}/sound",
    response_class=Response,
    responses={200: {"content": {"audio/wav": {}}, "description": "The sound, as a WAV file"}},
)
async def hear_wake(caller: OwnerCaller, room: Room, entry: EntryID) -> Response:
    """Send the last seconds of sound before a room woke, or nearly did."""

    def read() -> bytes:
        log = caller.house.wakes.log(room)
        try:
            return log.clip(log.entry(entry).id).read_bytes()
        except FileNotFoundError as gone:
            raise RequestError("its sound is gone", code="not_found", hint="sounds are stored for a day") from gone

    wav = await anyio.to_thread.run_sync(read)
    return Response(wav, media_type="audio/wav", headers={"cache-control": "no-store"})


@router.post("/{room:path}/{entry}/label")
async def label_wake(caller: OwnerCaller, room: Room, entry: EntryID, label: WakeLabel) -> WakeRoomItem:
    """Note whether somebody had meant the house, and tell what is proposed now."""

    def note() -> WakeRoomItem:
        log = caller.house.wakes.log(room)
        log.label(entry, meant=label.meant)
        return _room(caller, room, log)

    return await anyio.to_thread.run_sync(note)


@router.put("/{room:path}/thresholds/{phrase}")
async def set_wake_threshold(
    caller: OwnerCaller, room: Room, phrase: Phrase, given: WakeThreshold
) -> WakeThresholdReply:
    """Have a room go by a threshold from now on, also after a restart."""
    await _check(caller, room, phrase)
    return WakeThresholdReply(at_once=await caller.house.wakes.set_threshold(room, phrase, given.threshold))


@router.delete("/{room:path}/thresholds/{phrase}")
async def reset_wake_threshold(caller: OwnerCaller, room: Room, phrase: Phrase) -> WakeThresholdReply:
    """Have a room go by the wake word's own threshold again."""
    await _check(caller, room, phrase)
    return WakeThresholdReply(at_once=await caller.house.wakes.set_threshold(room, phrase, None))


async def _check(caller: Caller, room: str, phrase: str) -> None:
    """Raise `RequestError` for what no room has been woken by: a threshold for it would wait unseen."""
    wakes = caller.house.wakes
    entries = await anyio.to_thread.run_sync(lambda: wakes.log(room).entries())
    if phrase not in wakes.thresholds(room) and phrase not in {one.phrase for one in entries}:
        raise RequestError(
            f"{phrase!r} was not heard in {room!r}", code="not_found", hint="GET /api/wake tells what was"
        )


def _room(caller: Caller, room: str, log: WakeLog) -> WakeRoomItem:
    entries = log.entries()
    phrases = sorted({*caller.house.wakes.thresholds(room), *(one.phrase for one in entries)})
    return WakeRoomItem(
        room=room,
        phrases=[_phrase(caller, room, phrase, entries) for phrase in phrases],
        heard=[_item(log, one) for one in reversed(entries) if log.is_of_today(one)],
    )


def _phrase(caller: Caller, room: str, phrase: str, entries: Sequence[WakeEntry]) -> WakePhraseItem:
    threshold = caller.house.wake_threshold(room, phrase, entries)
    labels = labels_of(entries, phrase)
    return WakePhraseItem(
        phrase=phrase,
        threshold=threshold,
        tuned=phrase in caller.house.wakes.thresholds(room),
        labels=len(labels),
        proposal=WakeProposalItem(**asdict(propose(labels, threshold))),
    )


def _item(log: WakeLog, entry: WakeEntry) -> WakeItem:
    return WakeItem(**asdict(entry), sound=log.clip(entry.id).exists())
