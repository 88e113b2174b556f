"""`atlas wake`: what woke this machine's room and what nearly did, was it meant, and what a threshold changes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from atlas.config import load as load_config
from atlas.errors import RequestError
from atlas.speech.wake_log import ThresholdEffect, WakeEntry, WakeLog

STEPS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9)
WAS_MEANT = {True: "for me", False: "not for me", None: ""}


def main(arguments: Sequence[str]) -> int:
    """List, label, weigh thresholds, or forget."""
    parser = argparse.ArgumentParser(prog="atlas wake", description=__doc__)
    parser.add_argument("--folder", type=Path, help="of a satellite's --near-misses; else this house's own room")
    commands = parser.add_subparsers(dest="command", required=True, metavar="list | label | threshold | forget")
    commands.add_parser("list", help="what there is of the last day, with where to hear it")
    label = commands.add_parser("label", help="was that for me? yes or no")
    label.add_argument("id")
    label.add_argument("answer", choices=("yes", "no"))
    threshold = commands.add_parser("threshold", help="what thresholds would have changed")
    threshold.add_argument("value", nargs="?", type=float, help="one of 0.05 to 0.99; else several")
    forget = commands.add_parser("forget", help="delete one with its clip, or all")
    forget.add_argument("id", nargs="?", default="")
    given = parser.parse_args(arguments)
    wakes = WakeLog(given.folder or load_config(os.environ).near_misses)
    match given.command:
        case "list":
            _show(wakes)
        case "label":
            print(_line(wakes, wakes.label(given.id, meant=given.answer == "yes")))
        case "threshold":
            _weigh(wakes, given.value)
        case "forget":
            print(f"deleted {wakes.forget(given.id)}")
    return 0


def _show(wakes: WakeLog) -> None:
    entries = wakes.entries()
    for entry in entries:
        print(_line(wakes, entry))
    if not entries:
        print(f"nothing of the last day in {wakes.folder}; a room stores it where near_misses = true")


def _line(wakes: WakeLog, entry: WakeEntry) -> str:
    at = datetime.fromtimestamp(entry.at).strftime("%H:%M:%S")  # noqa: DTZ006  # as the clock on the wall says
    what = "woke  " if entry.woke else "nearly"
    label = WAS_MEANT[entry.meant]
    return f"{entry.id}  {at}  {what}  {entry.score:.2f}  {entry.phrase:<14} {label:<10} {wakes.clip(entry.id)}"


def _weigh(wakes: WakeLog, value: float | None) -> None:
    if value is not None and not 0.05 <= value <= 0.99:
        raise RequestError(f"{value} is no threshold", code="invalid_value", hint="give 0.05 to 0.99")
    for threshold in STEPS if value is None else (value,):
        print(_effect(wakes.effect(threshold)))
    print("set it: wake_threshold in [satellite] of atlas.toml, or --wake-threshold of atlas satellite")


def _effect(effect: ThresholdEffect) -> str:
    return (
        f"{effect.threshold:.2f}  heard {effect.heard} of {effect.heard + effect.missed} that were for me,"
        f" woken by {effect.false} of {effect.false + effect.silent} that were not,"
        f" and by {effect.unlabelled} without a label"
    )
