"""Whose turn it is: every state meets every input, and what must hold holds after any story."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from atlas.voice.turns import TABLE, Input, TurnAction, TurnState, step
from tests.conftest import for_every

PAIRS = [(state, happened) for state in TurnState for happened in Input]
BY_CLIENT = (Input.COMMIT, Input.CLEAR, Input.RESPOND, Input.CANCEL)
ALIVE = (TurnState.REPLYING, TurnState.OVERTALKED, TurnState.ASIDE)
TOLD = (TurnState.HEARING, TurnState.PAUSED, TurnState.ASIDE)  # the door knows that somebody speaks
STARTS = (TurnAction.ANSWER, TurnAction.ANNOUNCE)


@for_every("state, happened", PAIRS)
def test_every_state_takes_every_input(state: TurnState, happened: Input) -> None:
    after, actions = step(state, happened)
    assert after in TurnState
    assert len(set(actions)) == len(actions), "an action twice in one row"
    if (state, happened) not in TABLE:
        assert (after, actions) == (state, ()), "an input without a row changes nothing"


@for_every("state, happened", PAIRS)
def test_a_reply_lives_exactly_in_the_states_of_a_reply(state: TurnState, happened: Input) -> None:
    after, actions = step(state, happened)
    alive = state in ALIVE and happened is not Input.ENDED
    for action in actions:
        if action is TurnAction.HUSH:
            assert alive, "nothing to hush"
            alive = False
        if action in STARTS:
            assert not alive, "two replies at once"
            alive = True
    if happened is Input.ENDED and state not in ALIVE:
        return  # cannot be: a reply that is not alive does not end
    assert alive == (after in ALIVE)


@for_every("state, happened", PAIRS)
def test_the_door_is_told_of_the_start_and_the_end_of_speech_in_pairs(state: TurnState, happened: Input) -> None:
    after, actions = step(state, happened)
    is_known = state in TOLD
    for action in actions:
        if action is TurnAction.SPEECH_STARTED:
            assert not is_known
            is_known = True
        if action is TurnAction.SPEECH_STOPPED:
            assert is_known
            is_known = False
    # Who asks for an answer while somebody speaks leaves that somebody speaking.
    assert is_known == (after in TOLD)


@for_every("state, happened", PAIRS)
def test_an_interruption_is_over_before_the_next_utterance_is_committed(state: TurnState, happened: Input) -> None:
    actions = step(state, happened).actions
    if TurnAction.HUSH in actions and TurnAction.COMMIT in actions:
        assert actions.index(TurnAction.HUSH) < actions.index(TurnAction.COMMIT)
    if TurnAction.ANSWER in actions and TurnAction.COMMIT in actions:
        assert actions.index(TurnAction.COMMIT) < actions.index(TurnAction.ANSWER)


@for_every("state, happened", PAIRS)
def test_nothing_is_answered_without_a_commit_unless_a_client_asks(state: TurnState, happened: Input) -> None:
    actions = step(state, happened).actions
    if TurnAction.ANSWER in actions and happened is not Input.RESPOND:
        assert TurnAction.COMMIT in actions


@for_every("state", TurnState)
def test_a_stop_is_kept_only_as_the_words_that_stopped_a_reply(state: TurnState) -> None:
    actions = step(state, Input.STOP).actions
    if TurnAction.COMMIT in actions and state not in (
        TurnState.HEARING,
        TurnState.PAUSED,
    ):  # there the reply was stopped when the speech began
        assert TurnAction.HUSH in actions, "nothing was stopped, so the words would be answered with the next question"


@for_every("state", TurnState)
def test_a_second_reply_is_refused_while_one_is_alive_and_a_cancel_while_none_is(state: TurnState) -> None:
    assert (TurnAction.REFUSE in step(state, Input.RESPOND).actions) == (state in ALIVE)
    assert (TurnAction.REFUSE in step(state, Input.CANCEL).actions) == (state not in ALIVE)


@for_every("state", TurnState)
def test_silence_follows_a_cancel_in_every_state(state: TurnState) -> None:
    assert step(state, Input.CANCEL).state not in ALIVE


@for_every("state, happened", PAIRS)
def test_patience_begins_anew_wherever_the_house_begins_to_listen(state: TurnState, happened: Input) -> None:
    after, actions = step(state, happened)
    if after is TurnState.LISTENING and state is not TurnState.LISTENING:
        assert TurnAction.WATCH in actions


@for_every("state", TurnState)
def test_no_state_is_a_trap(state: TurnState) -> None:
    seen, todo = {state}, [state]
    while todo:
        here = todo.pop()
        for happened in (Input.WAKE, Input.SPEECH, Input.LULL, Input.PAUSE, Input.ENDPOINT, Input.ENDED, Input.NOTHING):
            if (after := step(here, happened).state) not in seen:
                seen.add(after)
                todo.append(after)
    assert TurnState.LISTENING in seen


def stories() -> Iterator[Input]:
    return st.lists(st.sampled_from([i for i in Input if i is not Input.ENDED]), max_size=60)  # type: ignore[return-value]


@given(stories(), st.randoms(use_true_random=False))
def test_every_reply_that_starts_ends_once_whatever_happens(story: list[Input], chance: object) -> None:
    state, alive, started, ended = TurnState.LISTENING, False, 0, 0
    for event in story:
        happened = Input.ENDED if alive and chance.random() < 0.2 else event  # type: ignore[attr-defined]
        if happened is Input.ENDED:
            alive, ended = False, ended + 1
        state, actions = step(state, happened)
        for action in actions:
            if action in STARTS:
                assert not alive
                alive, started = True, started + 1
            if action is TurnAction.HUSH:
                assert alive
                alive, ended = False, ended + 1
    assert started == ended + alive
    assert alive == (state in ALIVE)


def test_a_guess_never_outlives_the_words_it_was_made_of() -> None:
    met: set[tuple[TurnState, bool]] = set()
    to_meet = {(TurnState.LISTENING, False)}
    while to_meet:
        met.add(here := to_meet.pop())
        for happened in Input:
            after, actions = step(here[0], happened)
            guessing = here[1]
            for action in actions:
                if action is TurnAction.GUESS:
                    guessing = True
                if action in (TurnAction.FORGET_GUESS, TurnAction.COMMIT, TurnAction.DROP):
                    guessing = False
            if happened in (Input.SPEECH, Input.UNHEEDED) and here[0] is not TurnState.ASLEEP:
                assert not guessing, f"in {here[0]} more was said, and the old guess still counts"
            to_meet |= {(after, guessing)} - met


def test_a_cough_over_the_reply_is_told_to_nobody() -> None:
    state, messages = TurnState.REPLYING, []
    for happened in (Input.SPEECH, Input.LULL, Input.PAUSE, Input.NOTHING):
        state, actions = step(state, happened)
        messages += [a for a in actions if a in (TurnAction.SPEECH_STARTED, TurnAction.HUSH, TurnAction.COMMIT)]
    assert (state, messages) == (TurnState.REPLYING, [])


@for_every("state", TurnState)
def test_a_stop_is_committed_where_the_door_hears_of_it_and_dropped_where_it_comes_too_late(state: TurnState) -> None:
    _, actions = step(state, Input.STOP)
    if state is TurnState.LISTENING:
        assert actions == (TurnAction.DROP,), "it would open the next question"
    elif actions:
        assert TurnAction.COMMIT in actions
        assert TurnAction.SPEECH_STOPPED in actions
