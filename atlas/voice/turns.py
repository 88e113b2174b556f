"""Says whose turn it is, by a table: state and what happened in, next state and what to do out. Pure; no sound.

A conversation by voice is a question of who may speak now. Here it is a machine of seven states, and everything that
can happen is one of the inputs below. Who may cause which:

    the ears        WAKE, SPEECH, SUSTAINED, FADE, LULL, PAUSE, ENDPOINT, FULL, SILENCE   (sound alone, by samples)
    a guess         COMMAND, STOP, NOTHING                                   (the words so far, once for a silence)
    the reply       ENDED                                                    (it was heard to its end)
    the house       ANNOUNCE                                                 (a timer, or somebody's announcement)
    the client      COMMIT, CLEAR, RESPOND, CANCEL, and WAKE                 (its own ear, or buttons)

The session makes UNHEEDED of SPEECH where nothing may interrupt a reply, and FULL of ENDPOINT where no answer is
wanted: the table knows no options. It carries out one input after the other, each row whole: a row once begun is not
cancelled. An input of a guess or a reply that has been dropped meanwhile is no input. A pair without a row changes
nothing.

One question and its answer, the short way, is

    LISTENING ─SPEECH→ HEARING ─PAUSE→ PAUSED ─COMMAND or ENDPOINT→ REPLYING ─ENDED→ LISTENING ─SILENCE→ ASLEEP

where more speech leads from PAUSED back to HEARING, and a room without a wake word never sleeps. The words are read at
the first FADE or LULL, so that they are known by the time when the silence after them is long enough. Over a reply,
OVERTALKED is the state of doubt: short sounds lead back to REPLYING, SUSTAINED speech or words that mean something stop
the reply. ASIDE is its twin for a reply that may not be interrupted but by a "stop", or that a client asked for while
somebody spoke: what is said is kept for later.

What holds in every row:

- a reply is alive in REPLYING, OVERTALKED and ASIDE and in no other state; so there are never two;
- the door is told of the start and the end of speech in pairs: it knows of some in HEARING, PAUSED and ASIDE;
- only committed words are answered: a row that answers commits them first, or RESPOND takes those that were before. A
  guess can begin an answer so, stop one, or have the model read ahead, and no more.

Nothing of this is durable: state, guesses and sound are gone with the connection. What was said and heard becomes the
house's to remember when a reply ends or is hushed, and a deed that a tool has done by then stays done.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class TurnState(Enum):
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
    FADE = "fade"  # the sound grew quiet; perhaps the speaker is, too
    LULL = "lull"  # the speaker is quiet, perhaps only between two words
    PAUSE = "pause"  # the speaker is quiet for a moment
    ENDPOINT = "endpoint"  # the speaker has finished
    FULL = "full"  # so has the place for sound, or nobody wants an answer: keep the words, answer nobody
    SILENCE = "silence"  # nobody has spoken for as long as patience lasts
    COMMAND = "command"  # the words guessed are a whole command already, and the silence is long enough for it
    STOP = "stop"  # the words guessed over the reply are "stop"
    NOTHING = "nothing"  # the words guessed are no reason to act now
    ENDED = "ended"  # the reply is over, heard to its end
    ANNOUNCE = "announce"  # the house has something to say by itself
    COMMIT = "commit"  # the client says that the utterance is complete
    CLEAR = "clear"  # the client wants what was heard forgotten
    RESPOND = "respond"  # the client wants an answer now
    CANCEL = "cancel"  # the client wants the reply stopped


class TurnAction(Enum):
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


class Move(NamedTuple):
    """A row's right side."""

    state: TurnState
    actions: tuple[TurnAction, ...] = ()


S, I, A = TurnState, Input, TurnAction  # noqa: E741  (a table is read by its columns)

# fmt: off
TABLE: dict[tuple[TurnState, Input], Move] = {
    (S.ASLEEP, I.WAKE):          Move(S.LISTENING, (A.WATCH, A.PREPARE)),
    (S.ASLEEP, I.RESPOND):       Move(S.REPLYING, (A.ANSWER,)),
    (S.ASLEEP, I.ANNOUNCE):      Move(S.REPLYING, (A.ANNOUNCE,)),
    (S.ASLEEP, I.CANCEL):        Move(S.ASLEEP, (A.REFUSE,)),
    (S.ASLEEP, I.COMMIT):        Move(S.ASLEEP, (A.REFUSE,)),
    (S.ASLEEP, I.CLEAR):         Move(S.ASLEEP, (A.DROP,)),

    (S.LISTENING, I.WAKE):       Move(S.LISTENING, (A.DROP, A.WATCH, A.PREPARE)),  # heard by an ear that is not ours
    (S.LISTENING, I.SPEECH):     Move(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.PREPARE)),
    (S.LISTENING, I.UNHEEDED):   Move(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.PREPARE)),
    (S.LISTENING, I.SILENCE):    Move(S.ASLEEP, (A.SLEEP,)),
    (S.LISTENING, I.FULL):       Move(S.LISTENING, (A.COMMIT,)),
    (S.LISTENING, I.COMMIT):     Move(S.LISTENING, (A.COMMIT,)),
    (S.LISTENING, I.CLEAR):      Move(S.LISTENING, (A.DROP,)),
    (S.LISTENING, I.RESPOND):    Move(S.REPLYING, (A.ANSWER,)),
    (S.LISTENING, I.ANNOUNCE):   Move(S.REPLYING, (A.ANNOUNCE,)),
    (S.LISTENING, I.CANCEL):     Move(S.LISTENING, (A.REFUSE,)),
    # Words said over the last of a reply, and understood only after it. Kept, a "stop" would open the next question.
    (S.LISTENING, I.COMMAND):    Move(S.REPLYING, (A.SPEECH_STARTED, A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.LISTENING, I.STOP):       Move(S.LISTENING, (A.DROP,)),
    (S.LISTENING, I.NOTHING):    Move(S.LISTENING, (A.DROP,)),

    # A pause may have begun before this state: while a reply went on, and the guess at it is still there.
    (S.HEARING, I.SPEECH):       Move(S.HEARING, (A.FORGET_GUESS,)),
    (S.HEARING, I.UNHEEDED):     Move(S.HEARING, (A.FORGET_GUESS,)),
    (S.HEARING, I.FADE):         Move(S.HEARING, (A.GUESS,)),
    (S.HEARING, I.LULL):         Move(S.HEARING, (A.GUESS,)),
    (S.HEARING, I.PAUSE):        Move(S.PAUSED, (A.GUESS, A.PREPARE)),
    (S.HEARING, I.COMMAND):      Move(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.HEARING, I.STOP):         Move(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.HEARING, I.ENDPOINT):     Move(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.HEARING, I.FULL):         Move(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.HEARING, I.COMMIT):       Move(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.HEARING, I.CLEAR):        Move(S.LISTENING, (A.SPEECH_STOPPED, A.DROP, A.WATCH)),
    (S.HEARING, I.RESPOND):      Move(S.ASIDE, (A.ANSWER,)),
    (S.HEARING, I.CANCEL):       Move(S.HEARING, (A.REFUSE,)),

    (S.PAUSED, I.SPEECH):        Move(S.HEARING, (A.FORGET_GUESS,)),
    (S.PAUSED, I.UNHEEDED):      Move(S.HEARING, (A.FORGET_GUESS,)),
    (S.PAUSED, I.COMMAND):       Move(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.PAUSED, I.NOTHING):       Move(S.PAUSED, (A.PREPARE,)),
    (S.PAUSED, I.STOP):          Move(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.PAUSED, I.ENDPOINT):      Move(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.PAUSED, I.FULL):          Move(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.PAUSED, I.COMMIT):        Move(S.LISTENING, (A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.PAUSED, I.CLEAR):         Move(S.LISTENING, (A.SPEECH_STOPPED, A.DROP, A.WATCH)),
    (S.PAUSED, I.RESPOND):       Move(S.ASIDE, (A.ANSWER,)),
    (S.PAUSED, I.CANCEL):        Move(S.PAUSED, (A.REFUSE,)),

    # Only a reply that began while asleep, as a bell does, hears the wake word.
    (S.REPLYING, I.WAKE):        Move(S.LISTENING, (A.HUSH, A.WATCH, A.PREPARE)),
    (S.REPLYING, I.SPEECH):      Move(S.OVERTALKED, (A.FORGET_GUESS,)),
    (S.REPLYING, I.UNHEEDED):    Move(S.ASIDE, (A.FORGET_GUESS, A.SPEECH_STARTED)),
    (S.REPLYING, I.STOP):        Move(S.LISTENING, (A.SPEECH_STARTED, A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.REPLYING, I.COMMAND):     Move(S.REPLYING, (A.SPEECH_STARTED, A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.REPLYING, I.NOTHING):     Move(S.REPLYING, (A.DROP,)),
    (S.REPLYING, I.FULL):        Move(S.REPLYING, (A.COMMIT,)),
    (S.REPLYING, I.COMMIT):      Move(S.REPLYING, (A.COMMIT,)),
    (S.REPLYING, I.CLEAR):       Move(S.REPLYING, (A.DROP,)),
    (S.REPLYING, I.RESPOND):     Move(S.REPLYING, (A.REFUSE,)),
    (S.REPLYING, I.ENDED):       Move(S.LISTENING, (A.WATCH,)),
    (S.REPLYING, I.CANCEL):      Move(S.LISTENING, (A.HUSH, A.WATCH)),

    # Nobody is told of speech over a reply before it is known to be meant: a stock client falls silent at once.
    (S.OVERTALKED, I.SPEECH):    Move(S.OVERTALKED, (A.FORGET_GUESS,)),
    (S.OVERTALKED, I.UNHEEDED):  Move(S.ASIDE, (A.FORGET_GUESS, A.SPEECH_STARTED)),
    (S.OVERTALKED, I.SUSTAINED): Move(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.HUSH, A.PREPARE)),
    (S.OVERTALKED, I.PAUSE):     Move(S.OVERTALKED, (A.GUESS,)),
    (S.OVERTALKED, I.ENDPOINT):  Move(S.REPLYING, (A.GUESS,)),
    (S.OVERTALKED, I.FULL):      Move(S.REPLYING, (A.GUESS,)),
    (S.OVERTALKED, I.NOTHING):   Move(S.REPLYING, (A.DROP,)),
    (S.OVERTALKED, I.STOP):      Move(S.LISTENING, (A.SPEECH_STARTED, A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.OVERTALKED, I.COMMAND):   Move(S.REPLYING, (A.SPEECH_STARTED, A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.ANSWER)),
    (S.OVERTALKED, I.COMMIT):    Move(S.REPLYING, (A.SPEECH_STARTED, A.SPEECH_STOPPED, A.COMMIT)),
    (S.OVERTALKED, I.CLEAR):     Move(S.REPLYING, (A.DROP,)),
    (S.OVERTALKED, I.RESPOND):   Move(S.OVERTALKED, (A.REFUSE,)),
    (S.OVERTALKED, I.ENDED):     Move(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.PREPARE)),
    (S.OVERTALKED, I.CANCEL):    Move(S.HEARING, (A.FORGET_GUESS, A.SPEECH_STARTED, A.HUSH, A.PREPARE)),

    (S.ASIDE, I.SPEECH):         Move(S.ASIDE, (A.FORGET_GUESS,)),
    (S.ASIDE, I.UNHEEDED):       Move(S.ASIDE, (A.FORGET_GUESS,)),
    (S.ASIDE, I.PAUSE):          Move(S.ASIDE, (A.GUESS,)),
    (S.ASIDE, I.STOP):           Move(S.LISTENING, (A.HUSH, A.SPEECH_STOPPED, A.COMMIT, A.WATCH)),
    (S.ASIDE, I.ENDPOINT):       Move(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT)),
    (S.ASIDE, I.FULL):           Move(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT)),
    (S.ASIDE, I.COMMIT):         Move(S.REPLYING, (A.SPEECH_STOPPED, A.COMMIT)),
    (S.ASIDE, I.CLEAR):          Move(S.REPLYING, (A.SPEECH_STOPPED, A.DROP)),
    (S.ASIDE, I.RESPOND):        Move(S.ASIDE, (A.REFUSE,)),
    (S.ASIDE, I.ENDED):          Move(S.HEARING, (A.PREPARE,)),
    (S.ASIDE, I.CANCEL):         Move(S.HEARING, (A.HUSH, A.PREPARE)),
}
# fmt: on


def step(state: TurnState, happened: Input) -> Move:
    """Return what follows. A pair without a row changes nothing: such an input has come too late to matter."""
    return TABLE.get((state, happened), Move(state))
