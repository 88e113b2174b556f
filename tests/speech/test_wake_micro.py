"""When a model's scores are a wake word, and when they were nearly one."""

from __future__ import annotations

from typing import Any

from atlas.audio import silence
from atlas.speech.wake_micro import MicroWakeStream

WINDOW_SECONDS = 0.01


class Model:
    """Says the scores of a script, one a window, and then nothing any more."""

    stride = 1
    probability_cutoff = 0.9

    def __init__(self, *scores: float) -> None:
        self.scores = list(scores)

    def process_streaming_prob(self, features: Any) -> float:
        return self.scores.pop(0) if self.scores else 0.0

    def reset(self) -> None: ...


def heard(*scores: float, threshold: float = 0.0) -> tuple[list[str], list[tuple[str, float]]]:
    """What was heard while a model said these scores, and what was nearly."""
    missed: list[tuple[str, float]] = []
    model: Any = Model(*scores)
    stream = MicroWakeStream(
        {"okay nabu": model}, lambda phrase: threshold, lambda phrase, score, _: missed.append((phrase, score))
    )
    chunk = silence(WINDOW_SECONDS)
    said = [phrase for _ in range(300) if (phrase := stream.hear(chunk))]
    return said, missed


def test_a_word_is_one_of_which_the_model_is_sure_twice_in_a_row() -> None:
    assert heard(0.95, 0.95) == (["okay nabu"], [])
    assert heard(0.95, 0.1, 0.95)[0] == []


def test_what_was_nearly_a_word_is_told_once_with_the_best_score_that_it_had_twice_in_a_row() -> None:
    assert heard(0.6, 0.7, 0.8, 0.6) == ([], [("okay nabu", 0.7)])
    assert heard(0.3, 0.5, 0.5) == ([], []), "so far off it is other talk"
    assert heard(0.8, 0.95, 0.95, 0.8) == (["okay nabu"], []), "what became the word was no miss"


def test_a_room_may_have_a_threshold_of_its_own() -> None:
    assert heard(0.7, 0.7, threshold=0.6) == (["okay nabu"], [])
    assert heard(0.95, 0.95, threshold=0.97)[0] == []


def test_a_threshold_counts_from_the_next_sound_on() -> None:
    model, thresholds = Model(), {"okay nabu": 0.97}
    models: Any = {"okay nabu": model}
    stream = MicroWakeStream(models, lambda phrase: thresholds[phrase])
    for threshold, said in ((0.97, []), (0.9, ["okay nabu"])):
        thresholds["okay nabu"] = threshold
        model.scores = [0.95, 0.95]
        assert [phrase for _ in range(100) if (phrase := stream.hear(silence(WINDOW_SECONDS)))] == said
        assert stream.threshold == (threshold if said else 0.0), "that of the word that was found"


def test_the_score_of_a_word_is_that_of_its_surest_moment_which_comes_after_it_was_found() -> None:
    models: Any = {"okay nabu": Model(0.91, 0.92, 0.98, 0.99, 0.4)}
    stream = MicroWakeStream(models)
    assert [stream.score for _ in range(100) if stream.hear(silence(WINDOW_SECONDS))] == [0.91]
    assert stream.score == 0.98
