"""When Atlas believes that somebody began, paused and finished speaking."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from atlas.speech.endpoint import Endpoint, EndpointDecision, EndpointOptions

FRAME = 0.032


def story(endpoint: Endpoint, *parts: tuple[float, float]) -> list[tuple[EndpointDecision, float]]:
    """Play stretches of (seconds, probability); return what was decided, and when."""
    frames = [probability for seconds, probability in parts for _ in range(round(seconds / FRAME))]
    decided = ((endpoint.hear(FRAME, probability), round(endpoint.at_seconds, 2)) for probability in frames)
    return [(heard, at) for heard, at in decided if heard]


def words(decided: list[tuple[EndpointDecision, float]]) -> list[EndpointDecision]:
    return [heard for heard, _ in decided]


def test_a_sentence_begins_pauses_and_ends():
    decided = story(Endpoint(), (1.0, 0.0), (1.5, 0.9), (1.0, 0.0))
    assert words(decided) == [
        EndpointDecision.SPEECH,
        EndpointDecision.LULL,
        EndpointDecision.PAUSE,
        EndpointDecision.ENDPOINT,
    ]
    assert [at for _, at in decided] == [1.15, 2.53, 2.72, 3.2]


def test_where_the_speech_stood_is_known_after_the_endpoint():
    endpoint = Endpoint()
    story(endpoint, (1.024, 0.0), (1.504, 0.9), (1.0, 0.0))
    assert round(endpoint.began_seconds, 3) == 1.024
    assert round(endpoint.ended_seconds, 3) == 2.528
    assert not endpoint.speaking
    assert endpoint.speech_seconds == 0


def test_speech_that_goes_on_after_a_pause_is_reported_and_does_not_end():
    decided = story(Endpoint(), (1.0, 0.9), (0.4, 0.0), (1.0, 0.9), (1.0, 0.0))
    assert words(decided) == [
        *(EndpointDecision.SPEECH, EndpointDecision.LULL, EndpointDecision.PAUSE),
        *(EndpointDecision.SPEECH, EndpointDecision.LULL, EndpointDecision.PAUSE, EndpointDecision.ENDPOINT),
    ]


def test_a_short_gap_between_words_is_a_lull_and_not_a_pause():
    one_lull = [EndpointDecision.SPEECH, EndpointDecision.LULL]
    assert words(story(Endpoint(), (0.5, 0.9), (0.128, 0.0), (0.5, 0.9), (0.128, 0.0))) == one_lull * 2


def test_a_single_frame_without_voice_is_time_to_read_the_words_and_speech_goes_on_behind_it():
    one_lull = [EndpointDecision.SPEECH, EndpointDecision.LULL]
    assert words(story(Endpoint(), (0.5, 0.9), (0.032, 0.0), (0.5, 0.9))) == [*one_lull, EndpointDecision.SPEECH]


def test_a_click_is_not_speech():
    assert story(Endpoint(), (1.0, 0.0), (0.096, 1.0), (2.0, 0.0)) == []


def test_clicks_that_are_far_apart_do_not_add_up_to_speech():
    assert story(Endpoint(), *[(0.096, 1.0), (0.5, 0.0)] * 20) == []


def test_a_stuttered_word_adds_up_to_speech():
    assert words(story(Endpoint(), (0.096, 1.0), (0.064, 0.0), (0.096, 1.0))) == [EndpointDecision.SPEECH]


def test_a_click_inside_the_silence_does_not_make_the_speaker_wait_again():
    endpoint = Endpoint()
    decided = story(endpoint, (1.0, 0.9), (0.4, 0.0), (0.032, 1.0), (0.4, 0.0))
    assert words(decided) == [
        EndpointDecision.SPEECH,
        EndpointDecision.LULL,
        EndpointDecision.PAUSE,
        EndpointDecision.ENDPOINT,
    ]
    assert round(endpoint.ended_seconds, 2) == 0.99


def test_quiet_word_ends_still_count_as_speech_but_do_not_begin_it():
    assert words(story(Endpoint(), (1.0, 0.9), (5.0, 0.4))) == [EndpointDecision.SPEECH]
    assert words(story(Endpoint(), (5.0, 0.4))) == []


def test_an_utterance_ends_when_it_is_as_long_as_one_may_be_and_the_rest_is_the_next():
    endpoint = Endpoint(EndpointOptions(max_utterance_seconds=27.5))
    decided = story(endpoint, (60.0, 0.9))
    assert words(decided) == [
        EndpointDecision.SPEECH,
        EndpointDecision.ENDPOINT,
        EndpointDecision.SPEECH,
        EndpointDecision.ENDPOINT,
        EndpointDecision.SPEECH,
    ]
    assert decided[1][1] == 27.52


def test_nobody_speaking_is_reported_once_for_each_stretch_of_patience():
    endpoint = Endpoint(EndpointOptions(patience_seconds=5.0))
    decided = story(endpoint, (12.0, 0.1))
    assert words(decided) == [EndpointDecision.SILENCE, EndpointDecision.SILENCE]
    assert [at for _, at in decided] == [5.02, 10.05]


def test_patience_does_not_run_out_while_somebody_speaks():
    endpoint = Endpoint(EndpointOptions(patience_seconds=2.0))
    assert words(story(endpoint, (1.5, 0.0), (4.0, 0.9))) == [EndpointDecision.SPEECH]


def test_options_may_change_in_the_middle_of_a_pause():
    endpoint = Endpoint()
    story(endpoint, (1.0, 0.9), (0.4, 0.0))
    endpoint.options = replace(endpoint.options, silence_seconds=0.3)
    assert endpoint.hear(FRAME, 0.0) is EndpointDecision.ENDPOINT


def test_a_pause_after_words_that_can_stand_alone_may_be_shorter():
    endpoint = Endpoint()
    story(endpoint, (1.0, 0.9), (0.23, 0.0))
    endpoint.settle(0.35)
    assert story(endpoint, (1.0, 0.0))[0] == (EndpointDecision.ENDPOINT, 1.34)


def test_who_goes_on_after_all_has_the_usual_patience_again():
    endpoint = Endpoint()
    story(endpoint, (1.0, 0.9), (0.23, 0.0))
    endpoint.settle(0.35)
    assert words(story(endpoint, (0.5, 0.9), (0.5, 0.0))) == [
        EndpointDecision.SPEECH,
        EndpointDecision.LULL,
        EndpointDecision.PAUSE,
    ]


def test_only_a_silence_can_be_shortened():
    endpoint = Endpoint()
    story(endpoint, (1.0, 0.9))
    endpoint.settle(0.1)
    assert words(story(endpoint, (0.5, 0.0))) == [EndpointDecision.LULL, EndpointDecision.PAUSE]


def test_behind_words_that_close_a_command_the_silence_ends_before_it_is_a_pause():
    endpoint = Endpoint()
    story(endpoint, (1.0, 0.9), (0.07, 0.0))
    endpoint.settle(0.19)
    assert story(endpoint, (1.0, 0.0))[0] == (EndpointDecision.ENDPOINT, 1.18)


def test_behind_words_that_must_go_on_the_silence_is_longer_and_only_this_one():
    endpoint = Endpoint()
    story(endpoint, (1.0, 0.9), (0.25, 0.0))
    endpoint.wait(1.0)
    assert story(endpoint, (0.7, 0.0)) == []
    decided = story(endpoint, (0.5, 0.9), (0.75, 0.0))
    assert words(decided) == [
        *(EndpointDecision.SPEECH, EndpointDecision.LULL, EndpointDecision.PAUSE),
        EndpointDecision.ENDPOINT,
    ]


QUIET = 1e-4  # of the power of speech


def aloud(endpoint: Endpoint, *parts: tuple[float, float, float]) -> list[tuple[EndpointDecision, float]]:
    """Play stretches of (seconds, probability, power); return what was decided, and after how many seconds of them."""
    began, frames = endpoint.at_seconds, [part for part in parts for _ in range(round(part[0] / FRAME))]
    decided = ((endpoint.hear(FRAME, *frame), round(endpoint.at_seconds - began, 2)) for _, *frame in frames)
    return [(heard, at) for heard, at in decided if heard]


def spoken(options: EndpointOptions | None = None) -> Endpoint:
    """Return an endpoint that has just heard a second of speech."""
    endpoint = Endpoint(options)
    assert words(aloud(endpoint, (1.0, 1.0, 1.0))) == [EndpointDecision.SPEECH]
    return endpoint


def test_words_can_be_read_as_soon_as_it_is_quiet_though_the_detector_still_hears_a_voice():
    decided = aloud(spoken(), (0.064, 0.9, QUIET), (1.0, 0.0, QUIET))
    assert words(decided) == [
        *(EndpointDecision.FADE, EndpointDecision.LULL, EndpointDecision.PAUSE, EndpointDecision.ENDPOINT),
    ]
    assert decided[0][1] == 0.03


def test_who_is_loud_again_behind_a_quiet_moment_goes_on():
    decided = aloud(spoken(), (0.032, 0.9, QUIET), (0.032, 0.9, 1.0), (0.32, 1.0, 1.0))
    assert decided == [(EndpointDecision.FADE, 0.03), (EndpointDecision.SPEECH, 0.06)]


def test_the_quiet_in_front_of_the_burst_of_a_t_is_part_of_a_word():
    assert aloud(spoken(), (0.064, 1.0, QUIET), (0.5, 1.0, 1.0)) == []


def test_who_goes_on_more_softly_is_heard_as_somebody_who_goes_on():
    endpoint = spoken()
    assert words(aloud(endpoint, (1.0, 0.9, QUIET))) == [EndpointDecision.FADE, EndpointDecision.SPEECH]
    assert endpoint.speaking


def test_speech_behind_a_slammed_door_is_speech():
    endpoint = spoken()
    assert aloud(endpoint, (0.064, 1.0, 1e4), (1.0, 1.0, 1.0)) == []
    endpoint.settle(0.19)
    assert aloud(endpoint, (0.096, 0.1, 1.0)) == [(EndpointDecision.LULL, 0.03)]


def test_a_silence_that_the_detector_hears_late_is_counted_from_where_it_became_quiet():
    endpoint = spoken()
    aloud(endpoint, (0.096, 0.9, QUIET))
    endpoint.settle(0.19)
    assert aloud(endpoint, (1.0, 0.0, QUIET))[-1] == (EndpointDecision.ENDPOINT, 0.13)
    endpoint = spoken()
    aloud(endpoint, (0.096, 0.9, 1.0))  # as loud as before, as in a noisy room
    aloud(endpoint, (0.032, 0.0, 1.0))
    endpoint.settle(0.19)
    assert aloud(endpoint, (1.0, 0.0, 1.0))[-1] == (EndpointDecision.ENDPOINT, 0.16)


def test_half_of_a_silence_is_heard_by_the_detector_however_quiet_it_was_before():
    endpoint = spoken()
    aloud(endpoint, (0.128, 0.9, QUIET))
    endpoint.settle(0.44)
    assert aloud(endpoint, (1.0, 0.0, QUIET))[-1][1] >= 0.22


def test_a_silence_that_a_client_asked_for_is_the_detectors():
    decided = aloud(spoken(EndpointOptions(silence_seconds=0.5)), (0.128, 0.9, QUIET), (1.0, 0.0, QUIET))
    assert decided[-1] == (EndpointDecision.ENDPOINT, 0.64)


def test_a_reset_forgets_everything():
    endpoint = Endpoint()
    story(endpoint, (1.0, 0.9))
    endpoint.reset()
    assert (endpoint.at_seconds, endpoint.speech_seconds, endpoint.speaking) == (0, 0, False)
    assert story(endpoint, (5.0, 0.0)) == []


@given(
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, QUIET, 1.0])), max_size=400),
    st.sampled_from([0.01, 0.02, 0.032, 0.1]),
)
def test_whatever_is_heard_the_decisions_come_in_an_order_that_makes_sense(frames, seconds):
    endpoint = Endpoint(EndpointOptions(patience_seconds=3.0, max_utterance_seconds=4.0))
    before: EndpointDecision | None = None
    may_follow = {
        None: {EndpointDecision.SPEECH, EndpointDecision.SILENCE},
        EndpointDecision.SPEECH: {EndpointDecision.FADE, EndpointDecision.LULL, EndpointDecision.ENDPOINT},
        EndpointDecision.FADE: {EndpointDecision.SPEECH, EndpointDecision.LULL, EndpointDecision.ENDPOINT},
        EndpointDecision.LULL: {EndpointDecision.SPEECH, EndpointDecision.PAUSE, EndpointDecision.ENDPOINT},
        EndpointDecision.PAUSE: {EndpointDecision.SPEECH, EndpointDecision.ENDPOINT},
        EndpointDecision.ENDPOINT: {EndpointDecision.SPEECH, EndpointDecision.SILENCE},
        EndpointDecision.SILENCE: {EndpointDecision.SPEECH, EndpointDecision.SILENCE},
    }
    silent = (None, EndpointDecision.ENDPOINT, EndpointDecision.SILENCE)
    for probability, power in frames:
        if heard := endpoint.hear(seconds, probability, power):
            assert heard in may_follow[before]
            before = heard
        assert endpoint.speaking == (before not in silent)
        assert 0 <= endpoint.began_seconds <= endpoint.ended_seconds <= endpoint.at_seconds + 1e-9
