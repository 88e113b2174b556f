"""Long recordings are cut where nobody speaks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.audio import HEARING_RATE
from atlas.speech.cut import FRAME_SECONDS, Stretch, stretches
from atlas.speech.vad import FRAME_SAMPLES
from tests.conftest import for_every


def heard(*parts: tuple[float, float]) -> list[float]:
    return [probability for seconds, probability in parts for _ in range(round(seconds / FRAME_SECONDS))]


def seconds(cut: tuple[Stretch, ...]) -> list[tuple[float, float]]:
    return [(round(part.start / HEARING_RATE, 1), round(part.end / HEARING_RATE, 1)) for part in cut]


def test_silence_has_no_passages():
    assert stretches([]) == ()
    assert stretches(heard((60, 0.1))) == ()
    assert stretches(heard((5, 0.0), (0.064, 1.0), (5, 0.0))) == ()


def test_sentences_near_each_other_stay_together_with_a_breath_around_them():
    cut = stretches(heard((5, 0), (3, 0.9), (0.6, 0), (3, 0.9), (5, 0)))
    assert seconds(cut) == [(4.7, 11.9)]


def test_a_long_silence_parts_two_passages():
    cut = stretches(heard((3, 0.9), (4, 0), (3, 0.9)))
    assert seconds(cut) == [(0.0, 3.3), (6.7, 10.0)]


def test_a_full_passage_ends_in_the_pause_before_it_would_be_too_long():
    cut = stretches(heard(*[(9, 0.9), (0.4, 0.0)] * 6), max_seconds=28)
    assert len(cut) == 3
    assert all(abs((part.end - part.start) / HEARING_RATE - 18.8) < 0.3 for part in cut)


def test_endless_speech_is_cut_at_its_weakest_moment():
    speech = heard((20, 0.9), (0.064, 0.4), (30, 0.9))
    cut = stretches(speech, max_seconds=28)
    assert seconds(cut)[0] == (0.0, 20.0)
    assert len(cut) == 3
    assert cut[-1].end == len(speech) * FRAME_SAMPLES


@given(
    st.lists(st.tuples(st.floats(0.03, 20), st.sampled_from([0.0, 0.4, 0.6, 1.0])), max_size=30),
    st.sampled_from([3.0, 10.0, 28.0]),
)
@settings(deadline=None)
def test_passages_are_in_order_apart_short_enough_and_hold_all_speech(parts, longest):
    probabilities = heard(*parts)
    cut = stretches(probabilities, longest)
    ends = [0, *(part.end for part in cut)]
    for before, part in zip(ends, cut, strict=False):
        assert before <= part.start < part.end <= len(probabilities) * FRAME_SAMPLES
        assert (part.end - part.start) / HEARING_RATE <= longest
    long_speech = [
        at for at in range(4, len(probabilities) - 4) if all(p >= 0.5 for p in probabilities[at - 4 : at + 5])
    ]
    for at in long_speech:
        assert any(part.start <= at * FRAME_SAMPLES < part.end for part in cut)


@for_every("longest", [0.5, 1.0])
def test_passages_too_short_for_a_word_are_a_mistake(longest):
    with pytest.raises(AssertionError):
        stretches([1.0], longest)
