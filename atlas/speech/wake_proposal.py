"""Proposes how sure a room has to be of its wake word, by what people said of what woke it and what nearly did. Pure.

A threshold makes two mistakes: calls that it misses, and sounds that were no call and wake the room. Of all thresholds
near the one of now, those with the fewest mistakes in what is known are a stretch between two scores, and the middle of
it is proposed: the next sound scores a little differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

LOWEST, HIGHEST = 0.3, 0.99  # below, a recogniser's scores are not weighed against what else it reads
MOST_STEP = 0.1  # at a time: labels are of sounds that the threshold of now has let through, or nearly
FEWEST_LABELS = 5
STEPS_OF_ONE = 100  # thresholds have two places
NoProposal = Literal["", "few", "right", "no_better"]


@dataclass(frozen=True, slots=True)
class LabelledScore:
    """How sure an engine was of a phrase, and whether a person meant the house."""

    score: float
    meant: bool


@dataclass(frozen=True, slots=True)
class WakeProposal:
    """A threshold, and what it would have changed of what people have labelled; that of now where it has a reason."""

    threshold: float
    reason: NoProposal = ""  # why there is none: few labels, no mistakes to mend, or nothing near makes fewer
    heard: int = 0  # that were meant, and were missed
    lost: int = 0  # that were meant, and would be missed
    silenced: int = 0  # that were not meant, and woke it
    disturbed: int = 0  # that were not meant, and would wake it


def propose(labels: Sequence[LabelledScore], threshold: float) -> WakeProposal:
    """Return what labels of one phrase in one room say of its threshold."""
    if len(labels) < FEWEST_LABELS:
        return WakeProposal(threshold, "few")
    mistakes = _mistakes(labels, threshold)
    if not mistakes:
        return WakeProposal(threshold, "right")
    steps = [step / STEPS_OF_ONE for step in range(round(LOWEST * STEPS_OF_ONE), round(HIGHEST * STEPS_OF_ONE) + 1)]
    near = [one for one in steps if round(abs(one - threshold), 6) <= MOST_STEP]
    fewest = min((_mistakes(labels, one) for one in near), default=mistakes)
    if fewest >= mistakes:
        return WakeProposal(threshold, "no_better")
    chosen = _middle_of_nearest([one for one in near if _mistakes(labels, one) == fewest], threshold)
    return _effect(labels, threshold, chosen)


def _mistakes(labels: Sequence[LabelledScore], threshold: float) -> int:
    return sum((one.score >= threshold) is not one.meant for one in labels)


def _middle_of_nearest(thresholds: Sequence[float], now: float) -> float:
    """Return the middle of the stretch of neighbouring thresholds that lies nearest to the one of now."""
    stretches: list[list[float]] = []
    for one in thresholds:
        if stretches and one - stretches[-1][-1] < 1.5 / STEPS_OF_ONE:
            stretches[-1].append(one)
        else:
            stretches.append([one])
    nearest = min(stretches, key=lambda stretch: min(abs(one - now) for one in stretch))
    return nearest[len(nearest) // 2]


def _effect(labels: Sequence[LabelledScore], now: float, then: float) -> WakeProposal:
    wakes_now, wakes_then = ({one for one in range(len(labels)) if labels[one].score >= at} for at in (now, then))
    meant = {number for number, one in enumerate(labels) if one.meant}
    more, fewer = wakes_then - wakes_now, wakes_now - wakes_then
    return WakeProposal(
        then, heard=len(more & meant), lost=len(fewer & meant), silenced=len(fewer - meant), disturbed=len(more - meant)
    )
