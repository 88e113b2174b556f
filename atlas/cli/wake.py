"""`atlas wake`: what woke rooms and what nearly did, was it meant, and which threshold the answers propose."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import RequestError
from atlas.speech.wake_log import ThresholdEffect, WakeEntry, WakeLog
from atlas.speech.wake_proposal import FEWEST_LABELS, HIGHEST, LOWEST, LabelledScore, propose
from atlas.speech.wake_rooms import WakeRooms, labels_of, threshold_now

WAS_MEANT = {True: "for me", False: "not for me", None: ""}
RANGE = f"{LOWEST} to {HIGHEST}"  # as in the app
STORED_BY_ROOMS = "rooms store it where near_misses = true in [speech]"
STORED_BY_SATELLITES = "atlas satellite stores it with --near-misses FOLDER"
NO_PROPOSAL = {
    "few": f"nothing is proposed before {FEWEST_LABELS} of them have a label",
    "right": "all of them are on the right side of it",
    "no_better": "nothing near it makes fewer mistakes",
}


def main(arguments: Sequence[str]) -> int:
    """List, label, weigh thresholds, or forget."""
    parser = argparse.ArgumentParser(prog="atlas wake", description=__doc__)
    parser.add_argument("--folder", type=Path, help="of a satellite's --near-misses; else the rooms of this house")
    parser.add_argument("--room", default="", help="of this house; else all of them")
    commands = parser.add_subparsers(dest="command", required=True, metavar="list | label | threshold | forget")
    commands.add_parser("list", help="what there is of the last day, with where to hear it")
    label = commands.add_parser("label", help="was that for me? yes or no")
    label.add_argument("id")
    label.add_argument("answer", choices=("yes", "no"))
    threshold = commands.add_parser("threshold", help="which threshold is proposed, and what it would have changed")
    threshold.add_argument("value", nargs="?", type=float, help=f"one of {RANGE}, to see what that would have done")
    forget = commands.add_parser("forget", help="delete one with its clip, or all")
    forget.add_argument("id", nargs="?", default="")
    given = parser.parse_args(arguments)
    rooms = {"": RoomLog(WakeLog(given.folder), {})} if given.folder else _rooms(load_config(os.environ), given.room)
    match given.command:
        case "list":
            _show(rooms, STORED_BY_SATELLITES if given.folder else STORED_BY_ROOMS)
        case "label":
            _label(rooms, given.id, meant=given.answer == "yes")
        case "threshold":
            _weigh(rooms, given.value)
        case "forget":
            _forget(rooms, given.id)
    return 0


@dataclass(frozen=True, slots=True)
class RoomLog:
    """What woke one room and what nearly did, what somebody set for it, and what atlas.toml says."""

    log: WakeLog
    tuned: Mapping[str, float]
    of_settings: float = 0.0

    def threshold(self, phrase: str, entries: Sequence[WakeEntry]) -> float:
        """Return what holds for a phrase, as far as that is known without its engine."""
        return threshold_now(phrase, entries, self.tuned, self.of_settings)


def _rooms(config: Config, wanted: str) -> Mapping[str, RoomLog]:
    wakes = WakeRooms(config.data, config.near_misses)
    names = [room for room in wakes.rooms() if wanted.lower() in ("", room.lower())]
    return {room: RoomLog(wakes.log(room), wakes.thresholds(room), config.wake_threshold(room)) for room in names}


def _show(rooms: Mapping[str, RoomLog], hint: str) -> None:
    lines = [
        _line(name, room.log, entry)
        for name, room in rooms.items()
        for entry in room.log.entries()
        if room.log.is_of_today(entry)
    ]
    print("\n".join(lines) or f"nothing of the last day; {hint}")


def _line(room: str, log: WakeLog, entry: WakeEntry) -> str:
    at = datetime.fromtimestamp(entry.at).strftime("%H:%M:%S")  # noqa: DTZ006  # as the clock on the wall says
    what = "woke  " if entry.woke else "nearly"
    label = WAS_MEANT[entry.meant]
    return f"{entry.id}  {at}  {what}  {entry.score:.2f}  {entry.phrase:<14} {label:<10} {room} {log.clip(entry.id)}"


def _label(rooms: Mapping[str, RoomLog], identity: str, *, meant: bool) -> None:
    logs = {name: room.log for name, room in rooms.items() if identity in {one.id for one in room.log.entries()}}
    if len(logs) != 1:
        hint = f"say which by --room: {', '.join(logs)}" if logs else "`atlas wake list` shows what there is"
        raise RequestError(f"{len(logs)} rooms have one called {identity!r}", code="invalid_value", hint=hint)
    for name, log in logs.items():
        print(_line(name, log, log.label(identity, meant=meant)))


def _forget(rooms: Mapping[str, RoomLog], identity: str) -> None:
    deleted = sum(room.log.forget(identity) for room in rooms.values())
    if identity and not deleted:
        hint = "`atlas wake list` shows what there is"
        raise RequestError(f"there is no {identity!r}", code="not_found", hint=hint)
    print(f"deleted {deleted}")


def _weigh(rooms: Mapping[str, RoomLog], value: float | None) -> None:
    if value is not None and not LOWEST <= value <= HIGHEST:
        raise RequestError(f"{value} is no threshold", code="invalid_value", hint=f"give {RANGE}")
    for name, room in rooms.items():
        entries = room.log.entries()
        for phrase in sorted({one.phrase for one in entries}):
            where = f"{name}, {phrase}" if name else phrase
            if value is None:
                print(f"{where}: {_proposal(labels_of(entries, phrase), room.threshold(phrase, entries))}")
            else:
                print(f"{where}: {_effect(room.log.effect(phrase, value))}")
    print("set it: House, Wake words in the app; on another machine --wake-threshold of atlas satellite")


def _proposal(labels: Sequence[LabelledScore], threshold: float) -> str:
    proposed = propose(labels, threshold)
    now = f"{threshold:.2f} now, {len(labels)} with a label;"
    if proposed.reason:
        return f"{now} {NO_PROPOSAL[proposed.reason]}"
    return (
        f"{now} {proposed.threshold:.2f} is proposed: it would have heard {proposed.heard} more that were for me and"
        f" lost {proposed.lost}; of the others {proposed.silenced} would have left it asleep and {proposed.disturbed}"
        " woken it"
    )


def _effect(effect: ThresholdEffect) -> str:
    return (
        f"{effect.threshold:.2f}  heard {effect.heard} of {effect.heard + effect.missed} that were for me,"
        f" woken by {effect.false} of {effect.false + effect.silent} that were not,"
        f" and by {effect.unlabelled} without a label"
    )
