"""Whose turn is it? A table: state and what happened in, next state and what to do out. Pure; no clock, no sound."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class State(Enum):
    """What goes on between one microphone and one speaker."""

    ASLEEP = "asleep"  # the wake word is waited for; nothing else is listened to
    LISTENING = "listening"  # awake, and nobody speaks
    HEARING = "hearing"  # somebody speaks to the house
    PAUSED = "paused"  # that speaker made a pause; perhaps the end, perhaps a breath
    REPLYING = "replying"  # the house thinks, uses tools or speaks
    OVERTALKED = "overtalked"  # somebody speaks over the reply: a cough, "mm-hm", or an interruption?
    ASIDE = "aside"  # somebody speaks while a reply goes on that may not be interrupted


class Input(Enum):
    """What happened."""

    WAKE = "wake"  # the wake word was said
    SPEECH = "speech"  # somebody began to speak, or went on after a pause
    UNHEEDED = "unheeded"  # the same, where speech may not interrupt a reply
    SUSTAINED = "sustained"  # that speech has lasted too long for a cough
    PAUSE = "pause"  # the speaker is quiet for a moment
    ENDPOINT = "endpoint"  # the speaker has finished
    FULL = "full"  # so has the place for sound, or nobody wants an answer: keep the words, answer nobody
    SILENCE = "silence"  # nobody has spoken for as long as patience lasts
    COMMAND = "command"  # the words guessed at the pause are a whole command already
    STOP = "stop"  # the words guessed over the reply are "stop"
    NOTHING = "nothing"  # the words guessed at the pause are no reason to act
    ENDED = "ended"  # the reply is over, heard to its end
    ANNOUNCE = "announce"  # the house has something to say by itself
    COMMIT = "commit"  # the client says that the utterance is complete
    CLEAR = "clear"  # the client wants what was heard forgotten
    RESPOND = "respond"  # the client wants an answer now
    CANCEL = "cancel"  # the client wants the reply stopped


class Action(Enum):
    """What to do, in the order given."""

    SPEECH_STARTED = "speech started"  # tell the door
    SPEECH_STOPPED = "speech stopped"  # tell the door
    GUESS = "guess"  # look at the words so far; nothing may come of it but COMMAND, STOP or NOTHING
    FORGET_GUESS = "forget guess"  # more was said
    PREPARE = "prepare"  # have the agent get ready for the words so far; nothing comes of it but a faster answer
    COMMIT = "commit"  # fix the utterance's sound and recognise its words
    ANSWER = "answer"  # start the reply to what was committed
    ANNOUNCE = "announce"  # start saying what the house wanted to say
    HUSH = "hush"  # cancel the reply, and wait until it is gone
    DROP = "drop"  # forget the sound
    WATCH = "watch"  # patience begins anew
    SLEEP = "sleep"  # listen for the wake word only
    REFUSE = "refuse"  # tell the client that this cannot be done now


class Step(NamedTuple):
    """A row's right side."""

    state: State
    actions: tuple[Action, ...] = ()


S, I, A = State, Input, Action  # noqa: E741  (a table is read by its columns)

# fmt: off
TABLE: dict[tuple[State, Input], Step] = {
    (S.ASLEEP, I.WAKE):          Step(S.LISTENING, (A.WATCH, A.PREPARE)),
    (S.ASLEEP, I.RESPOND):       Step(S.REPLYING, (A.ANSWER,)),
    (S.ASLEEP, I.ANNOUNCE):      Step(S.REPLYING, (A.ANNOUNCE,)),
    (S.ASLEEP, I.CANCEL):        Step(S.ASLEEP, (A.REFUSE,)),
    (S.ASLEEP, I.COMMIT):        Step(S.ASLEEP, (A.REFUSE,)),
    (S.ASLEEP, I.CLEAR):         Step(S.ASLEEP, (A.DROP,)),

    (S.LISTENING, I.WAKE):       Step(S.LISTENING, (A.DROP, A.WATCH, A.PREPARE)),  # heard by an ear that is not ours
    (S.LISTENING, I.SPEECH):     Step(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.PREPARE)),
    (S.LISTENING, I.UNHEEDED):   Step(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.PREPARE)),
    (S.LISTENING, I.SILENCE):    Step(S.ASLEEP, (A.SLEEP,)),
    (S.LISTENING, I.FULL):       Step(S.LISTENING, (A.COMMIT,)),
    (S.LISTENING, I.COMMIT):     Step(S.LISTENING, (A.COMMIT,)),
    (S.LISTENING, I.CLEAR):      Step(S.LISTENING, (A.DROP,)),
    (S.LISTENING, I.RESPOND):    Step(S.REPLYING, (A.ANSWER,)),
    (S.LISTENING, I.ANNOUNCE):   Step(S.REPLYING, (A.ANNOUNCE,)),
    (S.LISTENING, I.CANCEL):     Step(S.LISTENING, (A.REFUSE,)),
    # Words said over the last of a reply, and understood only after it. Kept, a "stop" would open the next question.
    (S.LISTENING, I.COMMAND):    Step(S.REPLYING, (A.SPEECH_STARTED, A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.LISTENING, I.STOP):       Step(S.LISTENING, (A.DROP,)),
    (S.LISTENING, I.NOTHING):    Step(S.LISTENING, (A.DROP,)),

    # A pause may have begun before this state: while a reply went on, and the guess at it is still there.
    (S.HEARING, I.SPEECH):       Step(S.HEARING, (A.FORGET_GUESS,)),
    (S.HEARING, I.UNHEEDED):     Step(S.HEARING, (A.FORGET_GUESS,)),
    (S.HEARING, I.PAUSE):        Step(S.PAUSED, (A.GUESS,)),
    (S.HEARING, I.ENDPOINT):     Step(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.HEARING, I.FULL):         Step(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.HEARING, I.COMMIT):       Step(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.HEARING, I.CLEAR):        Step(S.LISTENING, (A.SPEECH_STOPPED, A.DROP, A.WATCH)),
    (S.HEARING, I.RESPOND):      Step(S.ASIDE, (A.ANSWER,)),
    (S.HEARING, I.CANCEL):       Step(S.HEARING, (A.REFUSE,)),

    (S.PAUSED, I.SPEECH):        Step(S.HEARING, (A.FORGET_GUESS,)),
    (S.PAUSED, I.UNHEEDED):      Step(S.HEARING, (A.FORGET_GUESS,)),
    (S.PAUSED, I.COMMAND):       Step(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.PAUSED, I.NOTHING):       Step(S.PAUSED, (A.PREPARE,)),
    (S.PAUSED, I.STOP):          Step(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.PAUSED, I.ENDPOINT):      Step(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.PAUSED, I.FULL):          Step(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.PAUSED, I.COMMIT):        Step(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.PAUSED, I.CLEAR):         Step(S.LISTENING, (A.SPEECH_STOPPED, A.DROP, A.WATCH)),
    (S.PAUSED, I.RESPOND):       Step(S.ASIDE, (A.ANSWER,)),
    (S.PAUSED, I.CANCEL):        Step(S.PAUSED, (A.REFUSE,)),

    # Only a reply that began while asleep, as a bell does, hears the wake word.
    (S.REPLYING, I.WAKE):        Step(S.LISTENING, (A.HUSH, A.WATCH, A.PREPARE)),
    (S.REPLYING, I.SPEECH):      Step(S.OVERTALKED, (A.FORGET_GUESS,)),
    (S.REPLYING, I.UNHEEDED):    Step(S.ASIDE, (A.FORGET_GUESS, A.SPEECH_STARTED)),
    (S.REPLYING, I.STOP):        Step(S.LISTENING, (A.SPEECH_STARTED, A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.REPLYING, I.COMMAND):     Step(S.REPLYING, (A.SPEECH_STARTED, A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.REPLYING, I.NOTHING):     Step(S.REPLYING, (A.DROP,)),
    (S.REPLYING, I.FULL):        Step(S.REPLYING, (A.COMMIT,)),
    (S.REPLYING, I.COMMIT):      Step(S.REPLYING, (A.COMMIT,)),
    (S.REPLYING, I.CLEAR):       Step(S.REPLYING, (A.DROP,)),
    (S.REPLYING, I.RESPOND):     Step(S.REPLYING, (A.REFUSE,)),
    (S.REPLYING, I.ENDED):       Step(S.LISTENING, (A.WATCH,)),
    (S.REPLYING, I.CANCEL):      Step(S.LISTENING, (A.HUSH, A.WATCH)),

    # Nobody is told of speech over a reply before it is known to be meant: a stock client falls silent at once.
    (S.OVERTALKED, I.SPEECH):    Step(S.OVERTALKED, (A.FORGET_GUESS,)),
    (S.OVERTALKED, I.UNHEEDED):  Step(S.ASIDE, (A.FORGET_GUESS, A.SPEECH_STARTED)),
    (S.OVERTALKED, I.SUSTAINED): Step(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.HUSH, A.PREPARE)),
    (S.OVERTALKED, I.PAUSE):     Step(S.OVERTALKED, (A.GUESS,)),
    (S.OVERTALKED, I.ENDPOINT):  Step(S.REPLYING, (A.GUESS,)),
    (S.OVERTALKED, I.FULL):      Step(S.REPLYING, (A.GUESS,)),
    (S.OVERTALKED, I.NOTHING):   Step(S.REPLYING, (A.DROP,)),
    (S.OVERTALKED, I.STOP):      Step(S.LISTENING, (A.SPEECH_STARTED, A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.OVERTALKED, I.COMMAND):   Step(S.REPLYING, (A.SPEECH_STARTED, A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.OVERTALKED, I.COMMIT):    Step(S.REPLYING, (A.SPEECH_STARTED, A.SPEECH_STOPPED, A.COMMIT)),
    (S.OVERTALKED, I.CLEAR):     Step(S.REPLYING, (A.DROP,)),
    (S.OVERTALKED, I.RESPOND):   Step(S.OVERTALKED, (A.REFUSE,)),
    (S.OVERTALKED, I.ENDED):     Step(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.PREPARE)),
    (S.OVERTALKED, I.CANCEL):    Step(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.HUSH, A.PREPARE)),

    (S.ASIDE, I.SPEECH):         Step(S.ASIDE, (A.FORGET_GUESS,)),
    (S.ASIDE, I.UNHEEDED):       Step(S.ASIDE, (A.FORGET_GUESS,)),
    (S.ASIDE, I.PAUSE):          Step(S.ASIDE, (A.GUESS,)),
    (S.ASIDE, I.STOP):           Step(S.LISTENING, (A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.ASIDE, I.ENDPOINT):       Step(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT)),
    (S.ASIDE, I.FULL):           Step(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT)),
    (S.ASIDE, I.COMMIT):         Step(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT)),
    (S.ASIDE, I.CLEAR):          Step(S.REPLYING, (A.SPEECH_STOPPED, A.DROP)),
    (S.ASIDE, I.RESPOND):        Step(S.ASIDE, (A.REFUSE,)),
    (S.ASIDE, I.ENDED):          Step(S.HEARING, (A.PREPARE,)),
    (S.ASIDE, I.CANCEL):         Step(S.HEARING, (A.HUSH, A.PREPARE)),
}
# fmt: on


def step(state: State, happened: Input) -> Step:
    """Return what follows. A pair without a row changes nothing: such an input has come too late to matter."""
    return TABLE.get((state, happened), Step(state))
