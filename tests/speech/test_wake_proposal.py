"""What people said of a room's wakings proposes a threshold that makes fewer mistakes, near the one of now."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from atlas.speech.wake_proposal import FEWEST_LABELS, HIGHEST, LOWEST, MOST_STEP, LabelledScore, WakeProposal, propose

THRESHOLDS = st.integers(5, 99).map(lambda hundredths: hundredths / 100)
SCORES = st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)
LABELS = st.lists(st.builds(LabelledScore, SCORES, st.booleans()), max_size=30)


def labels(meant: Sequence[float] = (), unmeant: Sequence[float] = ()) -> list[LabelledScore]:
    return [LabelledScore(one, True) for one in meant] + [LabelledScore(one, False) for one in unmeant]


def mistakes(known: Sequence[LabelledScore], threshold: float) -> int:
    return sum((one.score >= threshold) is not one.meant for one in known)


def test_a_television_that_wakes_the_room_raises_the_threshold_to_the_middle_of_what_lies_between() -> None:
    known = labels(meant=(0.55, 0.9, 0.95), unmeant=(0.5, 0.48))
    assert propose(known, 0.45) == WakeProposal(0.53, silenced=2)


def test_calls_that_were_missed_lower_it() -> None:
    known = labels(meant=(0.42, 0.41, 0.9), unmeant=(0.31, 0.32))
    assert propose(known, 0.45) == WakeProposal(0.38, heard=2)


def test_what_it_would_lose_is_said_beside_what_it_would_mend() -> None:
    known = labels(meant=(0.47, 0.9), unmeant=(0.46, 0.48, 0.49))
    assert propose(known, 0.45) == WakeProposal(0.53, silenced=3, lost=1)
    known = labels(meant=(0.4, 0.41, 0.42, 0.9), unmeant=(0.43,))
    assert propose(known, 0.45) == WakeProposal(0.38, heard=3, disturbed=1)


def test_where_nothing_is_proposed_it_says_why() -> None:
    few = labels(unmeant=[0.5] * (FEWEST_LABELS - 1))
    assert propose(few, 0.45).reason == "few"
    assert propose(labels(meant=[0.9] * 5, unmeant=[0.4]), 0.45).reason == "right"
    assert propose(labels(meant=[0.9] * 5, unmeant=[0.95]), 0.45).reason == "no_better"
    assert propose(labels(meant=[0.1] * 5), 0.3).reason == "no_better", "nothing lies below the lowest"


@given(LABELS, THRESHOLDS)
def test_a_proposal_makes_fewer_mistakes_and_says_which_within_its_limits(
    known: list[LabelledScore], now: float
) -> None:
    proposed = propose(known, now)
    if proposed.reason:
        assert proposed == WakeProposal(now, proposed.reason)
        return
    assert len(known) >= FEWEST_LABELS
    assert LOWEST <= proposed.threshold <= HIGHEST
    assert abs(proposed.threshold - now) <= MOST_STEP + 1e-9
    mended, made = proposed.heard + proposed.silenced, proposed.lost + proposed.disturbed
    assert mended > made
    assert mistakes(known, proposed.threshold) == mistakes(known, now) - mended + made


@given(LABELS, THRESHOLDS, st.randoms())
def test_the_order_of_labels_says_nothing(known: list[LabelledScore], now: float, chance) -> None:
    shuffled = known.copy()
    chance.shuffle(shuffled)
    assert propose(shuffled, now) == propose(known, now)


@given(LABELS, THRESHOLDS)
def test_whoever_applies_what_is_proposed_comes_to_an_end(known: list[LabelledScore], now: float) -> None:
    for _ in range(len(known) + 1):
        proposed = propose(known, now)
        if proposed.reason:
            return
        now = proposed.threshold
    raise AssertionError("each proposal makes fewer mistakes, so there cannot be more of them than labels")
