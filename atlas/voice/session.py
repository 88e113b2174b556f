"""One microphone and one speaker in real time: carries out what the table of turns says."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.conversation import Actor, Turn, Utterance, fresh_id
from atlas.errors import EngineError, RequestError
from atlas.events import (
    Committed,
    Emit,
    End,
    Event,
    RecordedSpeech,
    SpeechStarted,
    SpeechStopped,
    TextDelta,
    Transcribed,
    TurnEnded,
    TurnStarted,
    Woken,
)
from atlas.latest import Latest
from atlas.own_words import own, speaking
from atlas.speech.normalize import spoken
from atlas.speech.sentences import pieces
from atlas.speech.stt import Judge, Stt
from atlas.speech.tts import Tts
from atlas.speech.vad import Vad
from atlas.speech.wake import WakeStream
from atlas.trace import Trace
from atlas.voice.ears import Ears, Notice
from atlas.voice.mouth import Mouth
from atlas.voice.options import ReplyOptions, SessionOptions
from atlas.voice.partial_words import PartialReader
from atlas.voice.prefill import Prefill, Prepare
from atlas.voice.recognition import CommittedUtterance, Guess, Pick, Recogniser
from atlas.voice.reply import Answer, Remember, SpokenReply
from atlas.voice.turns import Input, TurnAction, TurnState, step
from atlas.voice.voice_ahead import VoiceAhead

WAITING_CHUNKS = 16  # sound that arrives faster than it is listened to waits at the door, not in memory
STEP_SAMPLES = HEARING_RATE // 10  # a chunk is listened to in steps, so that a long one stops nobody else
ANNOUNCING_SECONDS = 90.0  # no announcement is longer, a recorded message of a minute included
MAX_UNANSWERED = 32  # utterances that wait for a client to ask for an answer; older ones are out of date
LULL_SECONDS = 8.0  # of an utterance: what is longer is no command, and is read at a longer pause
GOES_ON_SECONDS = 1.0  # of silence that is given to whoever stopped behind "and" or "the"
ONE_BREATH_SECONDS = 0.8  # between two words of one sentence; who waits longer says another
TRUNCATABLE = 16  # replies whose heard words can still be corrected


Work = Callable[[SpokenReply], Awaitable[None]]


class Session:
    """Hears with `hear`, tells with `emit`, and takes turns by the table in `turns.py`.

    `run` owns every task; it ends only by being cancelled. An event is told whole or not at all, even when its
    reply is cancelled meanwhile, so `emit` must be bounded in time. The other methods may be called from any one
    task at a time, while `run` runs; cancelling them is safe.
    """

    def __init__(
        self,
        *,
        stt: Stt,
        tts: Tts,
        vad: Vad,
        wake: WakeStream | None,
        actor: Actor,
        reply: Answer,
        prepare: Prepare,
        remember: Remember,
        pick: Pick,
        settle_seconds: Callable[[str], float | None],  # of silence after a command; None after other words
        foresee: Callable[[str], str] = lambda text: "",  # what will probably be said to a command; "" unknown
        judge: Callable[[Turn], Awaitable[Judge | None]] | None = None,  # of what may answer a question of the house
        goes_on: Callable[[str], bool],  # words behind which the speaker has more to say
        wants_silence: Callable[[str], bool],  # said over a reply, no answer is wanted
        emit: Emit,
        waiting: Mapping[str, str] | None = None,  # by language: what a voice says while nobody has a word yet
        options: SessionOptions | None = None,
        wish: ReplyOptions | None = None,
    ) -> None:
        self.options = options or SessionOptions()
        self.wish = wish or ReplyOptions()  # what holds for replies that nobody asked for in particular
        self.actor = actor
        self._stt = stt
        self._recogniser = Recogniser(stt, pick, actor.device, self._judge)
        self._tts = VoiceAhead(tts)
        self._house_replies = reply
        self._house_remembers = remember
        self._settle_seconds = settle_seconds
        self._foresee = foresee
        self._house_judges = judge
        self._question_open = False  # the last reply ended with a question,
        self._answered_person = ""  # and was to somebody known by voice
        self._rang = False  # the last reply was what the house said by itself: "stop" may follow
        self._goes_on = goes_on
        self._wants_silence = wants_silence
        self._tell = emit
        self._waiting = waiting
        self._patience = wake is not None
        self._ears = Ears(vad.listen(), wake, self.options.endpoint)
        self._apply()

        self._state = TurnState.LISTENING if wake is None else TurnState.ASLEEP
        self._changed = anyio.Event()
        self._turnstile = anyio.Lock()  # inputs are carried out one after the other, whoever brings them
        self._telling = anyio.Lock()
        self._announcing = anyio.Lock()
        self._sound, self._microphone = anyio.create_memory_object_stream[AudioChunk | anyio.Event](WAITING_CHUNKS)
        self._tasks: TaskGroup | None = None

        self._utterance_id = ""  # of the utterance that was told to have started
        self._speech_at = 0
        self._over_reply = False  # the utterance interrupted a reply
        self._guess: Guess | None = None
        self._ahead = Prefill(prepare)
        self._partial_reader = PartialReader(stt, self._emit)
        self._wake_word = ""  # what woke the house; it holds until the house sleeps again
        self._unanswered: deque[CommittedUtterance] = deque(maxlen=MAX_UNANSWERED)
        self._reply: SpokenReply | None = None
        self._announcement: tuple[TextDelta | RecordedSpeech, ...] = ()
        self._announced: SpokenReply | None = None
        self._answered_utterances: list[CommittedUtterance] = []  # by the last reply
        self._over = False
        self._said = Latest[str, Mouth](TRUNCATABLE)

    @property
    def state(self) -> TurnState:
        """Whose turn it is."""
        return self._state

    # ── what a door calls ──────────────────────────────────────────────────────────────────────────

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled. The other methods may be called once it has started."""
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                task_status.started()
                async for sound in self._microphone:
                    await self._listen(sound)
        finally:
            self._over = True
            self._changed.set()

    async def hear(self, chunk: AudioChunk) -> None:
        """Take sound at `HEARING_RATE`; waits while the session is behind."""
        await self._sound.send(chunk)

    async def configure(self, options: SessionOptions) -> None:
        """Go on by other options. What was heard is dropped when somebody else now decides where an utterance ends."""
        await self._heard_so_far()
        if options.detect_turns != self.options.detect_turns:
            await self._happens(Input.CLEAR)
        self.options = options
        self._apply()

    async def woken(self, phrase: str) -> None:
        """Take what follows as said after a wake word that the client heard itself; a reply under way is hushed."""
        self._wake_word, self._answered_utterances = phrase, []
        await self._emit(Woken(phrase))
        await self._happens(Input.WAKE)

    async def asleep(self) -> None:
        """Forget the wake word and what was heard: the client, or this session, listens for the wake word again."""
        await self.clear()
        if self._patience:
            await self._happens(Input.SILENCE)
        self._wake_word = ""

    async def commit(self) -> None:
        """End the utterance here, and recognise it without answering. Raises `RequestError` when there is no sound."""
        await self._heard_so_far()
        if not self._ears.has_sound or not await self._happens(Input.COMMIT):
            raise RequestError("nothing was heard that could be committed", code="input_audio_buffer_commit_empty")

    async def clear(self) -> None:
        """Forget what was heard and not committed."""
        await self._heard_so_far()
        await self._happens(Input.CLEAR)

    async def respond(self, wish: ReplyOptions | None = None) -> None:
        """Start a reply to what was said or typed and not answered yet; returns when it has started.

        Raises `RequestError` while another reply is alive.
        """
        await self._heard_so_far()
        if not await self._happens(Input.RESPOND, wish=wish):
            raise RequestError(
                "a reply is under way already",
                code="conversation_already_has_active_response",
                hint="wait for its end, or cancel it first",
            )

    async def cancel(self) -> None:
        """Stop the reply; returns when it is gone. Raises `RequestError` when there is none."""
        if not await self._happens(Input.CANCEL):
            raise RequestError("there is no reply to cancel", code="response_cancel_not_active")

    def mute(self) -> None:
        """Say no more of the reply under way aloud; its words still come, and are remembered whole."""
        if self._reply is not None and self._reply.mouth is not None:
            self._reply.mouth.mute()

    async def settled(self) -> None:
        """Return once what happens just now is carried out: a reply that is being cut short is over."""
        async with self._turnstile:
            pass

    async def say(self, text: str) -> None:
        """Say something that nobody asked for, as soon as nobody speaks; returns when it is over or was hushed.

        Cancelling takes it back, until it has begun. Raises `EngineError` when the session ends first.
        """
        await self.announce(TextDelta(text))

    async def announce(self, *announcement: TextDelta | RecordedSpeech) -> None:
        """Say words and recordings that nobody asked for, as `say` does.

        Cancelling takes it back, until it has begun. Raises `EngineError` when the session ends first.
        """
        async with self._announcing:
            self._announcement, self._announced = announcement, None
            while self._announced is None and not self._over:
                changed = self._changed
                if self._state in (TurnState.LISTENING, TurnState.ASLEEP):
                    await self._happens(Input.ANNOUNCE)
                else:
                    await changed.wait()
            await self._announcement_is_over()

    async def truncate(self, turn_id: str, played_ms: int) -> str:
        """Correct how much of a finished reply was heard; return its heard words, which the house remembers.

        Raises `RequestError` when the reply is unknown, still under way, or shorter than `played_ms`.
        """
        mouth = self._said.get(turn_id)
        if mouth is None:
            raise RequestError("only a finished, spoken, recent reply can be truncated", code="item_not_truncatable")
        if played_ms > math.ceil(mouth.given_seconds * 1000):
            raise RequestError(
                f"only {mouth.given_seconds * 1000:.0f} ms of it were spoken",
                code="invalid_value",
                param="audio_end_ms",
            )
        heard = mouth.heard(played_ms)
        await self._house_remembers(turn_id, heard)
        return heard

    # ── what happens, one thing after the other ────────────────────────────────────────────────────

    async def _listen(self, sound: AudioChunk | anyio.Event) -> None:
        if isinstance(sound, anyio.Event):
            sound.set()
            return
        for start in range(0, sound.samples, STEP_SAMPLES):
            for notice in self._ears.hear(sound.cut(start, start + STEP_SAMPLES)):
                await self._noticed(notice)
            await anyio.lowlevel.checkpoint()
        self._read_along()

    async def _noticed(self, notice: Notice) -> None:
        happened = notice.what
        if happened is Input.WAKE:
            self._wake_word, self._answered_utterances = notice.phrase, []
            await self._emit(Woken(notice.phrase))
        elif happened is Input.SPEECH:
            self._speech_at = notice.at_sample
            happened = Input.SPEECH if self.options.interrupt else Input.UNHEEDED
        elif happened is Input.ENDPOINT and not self.options.answer:
            happened = Input.FULL
        await self._happens(happened)

    async def _happens(
        self,
        happened: Input,
        *,
        guess: Guess | None = None,
        reply: SpokenReply | None = None,
        wish: ReplyOptions | None = None,
    ) -> bool:
        """Carry out a row of the table; False when it was refused, or came from a guess or reply that is gone."""
        async with self._turnstile:
            if (guess is not None and guess is not self._guess) or (reply is not None and reply is not self._reply):
                return False
            if reply is not None:
                self._reply = None
            row = step(self._state, happened)
            self._state = row.state
            with anyio.CancelScope(shield=True):  # half a row would leave state, sound and reply at odds
                for action in row.actions:
                    await self._act(action, happened, wish or self.wish)
            self._changed.set()
            self._changed = anyio.Event()
            return TurnAction.REFUSE not in row.actions

    async def _act(self, action: TurnAction, happened: Input, wish: ReplyOptions) -> None:
        match action:
            case TurnAction.SPEECH_STARTED:
                self._utterance_id = fresh_id("utt")
                await self._emit(SpeechStarted(self._utterance_id, self._speech_at))
                self._partial_reader.begin(self._utterance_id, self._ears.heard_samples)
            case TurnAction.SPEECH_STOPPED:
                await self._emit(SpeechStopped(self._utterance_id, self._ears.heard_samples))
            case TurnAction.GUESS:
                if self._is_worth_a_guess(happened):
                    self._begin_guess()
            case TurnAction.FORGET_GUESS:
                self._forget_guess()
            case TurnAction.PREPARE:
                self._prepare()
            case TurnAction.COMMIT:
                await self._commit()
            case TurnAction.ANSWER:
                self._begin_reply(self._answer, wish, is_question=happened is Input.RESPOND)
            case TurnAction.ANNOUNCE:
                self._announced = self._begin_reply(self._speak_announcement, ReplyOptions())
            case TurnAction.HUSH:
                await self._hush("cancelled" if happened is Input.CANCEL else "interrupted")
            case TurnAction.DROP:
                self._utterance_id = ""
                self._partial_reader.end()
                self._forget_guess()
                self._ears.drop()
                self._over_reply = False
            case TurnAction.WATCH:
                self._wait_for_more(happened)
                self._ears.watch()
            case TurnAction.SLEEP:
                self._wake_word = ""
                self._ears.sleep()
            case TurnAction.REFUSE:
                pass

    async def _heard_so_far(self) -> None:
        """Wait until all sound that was handed in has been listened to."""
        reached = anyio.Event()
        await self._sound.send(reached)
        await reached.wait()

    def _apply(self) -> None:
        o, ears = self.options, self._ears
        ears.detecting = o.detect_turns
        ears.pre_roll_seconds = o.pre_roll_seconds
        ears.sustained_seconds = o.barge_in_seconds
        ears.options = replace(o.endpoint, patience_seconds=o.follow_up_seconds if self._patience else None)

    def _wait_for_more(self, happened: Input) -> None:
        """Choose how long somebody may go on without the wake word, where there is one."""
        is_answered = happened in (Input.ENDED, Input.STOP, Input.CANCEL) and not (self._question_open or self._rang)
        seconds = self.options.after_answer_seconds if is_answered else self.options.follow_up_seconds
        self._ears.options = replace(self._ears.options, patience_seconds=seconds if self._patience else None)

    # ── hearing ────────────────────────────────────────────────────────────────────────────────────

    def _is_worth_a_guess(self, happened: Input) -> bool:
        """Whether the words so far are read now. Most quiet moments lie inside sentences: nobody may wait for those."""
        if happened is Input.FADE and not self._stt.idle:
            return False
        return happened not in (Input.FADE, Input.LULL) or self._ears.sound().seconds <= LULL_SECONDS

    def _begin_guess(self) -> None:
        self._partial_reader.pause()
        if self._guess is None:
            self._guess = Guess()
            self._start(self._guess_words, self._guess, self._ears.sound())

    def _read_along(self) -> None:
        """Read the words so far while somebody speaks, where that is wanted and due, and no more sound waits."""
        options, heard = self.options, self._ears.heard_samples
        if options.detect_turns:
            speaks = self._state is TurnState.HEARING and self._ears.hears_voice
        else:
            speaks = self._state is TurnState.LISTENING and self._ears.has_sound
        if not (options.partial_words and speaks):
            return
        if not self._partial_reader.utterance_id:  # the client says where one begins, by sending sound
            self._partial_reader.begin(fresh_id("utt"), heard)
        is_behind = self._microphone.statistics().current_buffer_used > 0
        if not is_behind and (scope := self._partial_reader.due(heard)):
            self._start(self._partial_reader.read, self._ears.sound(), scope)

    async def _judge(self) -> Judge | None:
        """Return what hears an answer, where the house has asked something; else `None`, and the ear's own is used."""
        if not (self._question_open and self._house_judges):
            return None
        actor = replace(self.actor, person=self._answered_person or self.actor.person)
        return await self._house_judges(replace(self._turn_of([], self.wish), actor=actor))

    def _forget_guess(self) -> None:
        if self._guess is not None:
            self._guess.scope.cancel()
            self._guess.speaking.cancel()
            self._guess = None
        if self._ahead.is_for_words:
            self._ahead.stop()

    async def _guess_words(self, guess: Guess, sound: AudioChunk) -> None:
        await self._recogniser.guess(guess, sound)
        if not guess.scope.cancelled_caught:
            meaning = self._meaning(guess)
            if meaning in (Input.NOTHING, Input.COMMAND) and guess.command and guess is self._guess:
                self._start(self._begin_to_say, guess)
            await self._happens(meaning, guess=guess)

    async def _begin_to_say(self, guess: Guess) -> None:
        """Make the first sound of what will probably be said to a command, while silence and tool are waited for."""
        assert guess.words is not None, "no command without words"
        speak = self.options.speak if self.wish.speak is None else self.wish.speak
        with guess.speaking, speaking(guess.words.language):
            if speak and (foreseen := self._foresee(guess.words.text)):
                await self._tts.begin(spoken(pieces(foreseen)[0].strip()), self.options.speed)

    def _meaning(self, guess: Guess) -> Input:
        """Return what the guessed words are reason for; they also say how long a silence must be after them."""
        words = guess.words
        if words is None or not words.text:
            return Input.NOTHING
        over_reply = self._over_reply or self._state in (TurnState.REPLYING, TurnState.OVERTALKED, TurnState.ASIDE)
        if over_reply and self._wants_silence(words.text):
            return Input.STOP
        if not self.options.answer:
            return Input.NOTHING
        if self._goes_on(words.text):
            self._ears.wait(GOES_ON_SECONDS)
        elif (settle := self._settle_seconds(words.text)) is not None:
            guess.command = True
            speaking = self._state in (TurnState.HEARING, TurnState.PAUSED)
            if self._ears.has_settled(settle) if speaking else settle <= self.options.endpoint.pause_seconds:
                return Input.COMMAND
            self._ears.settle(settle)
            self._ears.wait(settle)  # what concerns a whole house is waited for longer than other words
        return Input.NOTHING

    def _prepare(self) -> None:
        """Have the agent get ready for the words so far, while nobody waits for it."""
        if not self.options.answer or (self._guess and (self._guess.command or not self._guess.known.is_set())):
            return
        guessed = self._guess.words if self._guess else None
        spoken = [one.words for one in self._unanswered if one.words.text] + ([guessed] if guessed else [])
        turn = self._turn_of(spoken, self.wish)
        if scope := self._ahead.begin(turn):
            self._start(self._ahead.get_ready, turn, scope)

    async def _commit(self) -> None:
        """Fix the utterance's sound, and find its words by a task of their own."""
        silence = self._ears.silence_seconds if self._utterance_id else 0.0
        sound, guess, self._guess = self._ears.take(), self._guess, None
        name = self._utterance_id or self._partial_reader.utterance_id or fresh_id("utt")
        heard = CommittedUtterance(name, Trace(), self._over_reply, partial_words=self._partial_reader.end())
        heard.trace.began -= silence  # marks count from the last sound of speech
        heard.trace.stages["vad"] = silence
        heard.ended_sample = self._ears.heard_samples - round(silence * HEARING_RATE)
        self._utterance_id, self._over_reply = "", False
        for earlier in self._unanswered:
            earlier.sound = None
        heard.sound = sound
        self._unanswered.append(heard)
        await self._emit(Committed(heard.id, sound.seconds))
        self._start(self._recognise, heard, sound, guess)

    async def _recognise(self, heard: CommittedUtterance, sound: AudioChunk, guess: Guess | None) -> None:
        await self._recogniser.know(heard, sound, guess)
        words, partial = heard.words, heard.partial_words
        rest = partial.finish(words.text) if partial else None
        await self._emit(Transcribed(heard.id, words.text, str(heard.trouble or ""), words.language, rest))
        heard.known.set()

    # ── replying ───────────────────────────────────────────────────────────────────────────────────

    def _begin_reply(self, work: Work, wish: ReplyOptions, *, is_question: bool = False) -> SpokenReply:
        assert self._reply is None, "two replies at once"
        self._reply = SpokenReply(wish, is_question)
        self._start(self._replying, self._reply, work)
        return self._reply

    async def _replying(self, reply: SpokenReply, work: Work) -> None:
        try:
            with reply.scope:
                await work(reply)
        finally:
            self._question_open, self._answered_person = reply.text.rstrip().endswith("?"), reply.person
            self._rang = reply is self._announced
            reply.gone.set()
        await self._happens(Input.ENDED, reply=reply)

    async def _hush(self, why: End) -> None:
        """Cancel the reply; model, tools and voice stop because they are inside its scope."""
        reply, self._reply = self._reply, None
        assert reply is not None, "nothing to hush"
        self._over_reply = why == "interrupted"
        if self._over_reply and self._is_one_breath() and reply.looked:
            self._take_up_again()
        reply.hush(why)
        await reply.gone.wait()
        if reply.by_request and not reply.started:  # whoever asked is told an end, even of what never began
            turn_id = reply.wish.turn_id or fresh_id("turn")
            await self._emit(TurnStarted(turn_id, "house", "cancelled before it began"))
            await self._emit(TurnEnded(turn_id, why, "", "command"))

    def _is_one_breath(self) -> bool:
        """Whether who speaks now goes on with the sentence that was answered."""
        return (
            bool(self._answered_utterances)
            and not self._wants_silence(self._answered_utterances[-1].words.text)  # "stop" is all of it
            and self._ears.began_sample - self._answered_utterances[-1].ended_sample < ONE_BREATH_SECONDS * HEARING_RATE
        )

    def _take_up_again(self) -> None:
        """Answer what was answered too early, and changed nothing, together with what is said behind it."""
        for one in self._answered_utterances:
            one.words = replace(one.words, text=one.words.text.rstrip(" .,?!…"))
        self._unanswered.extendleft(reversed(self._answered_utterances))
        self._answered_utterances = []

    async def _answer(self, reply: SpokenReply) -> None:
        """Reply to everything that was said and not answered yet, once its words are known."""
        wish = reply.wish
        heard = list(self._unanswered) if wish.remembered else []
        for one in heard:  # when hushed here, nothing was done about these words yet: they belong to the next reply
            await one.known.wait()
        self._unanswered = deque((one for one in self._unanswered if one not in heard), MAX_UNANSWERED)
        self._answered_utterances = heard
        spoken = [
            one.words
            for one in heard
            if one.words.text and not (one.over_reply and self._wants_silence(one.words.text))
        ]
        timed = heard[-1].trace if heard else Trace()
        self._ahead.stop()  # the answer reads on from where that came to
        trouble = next((one.trouble for one in heard if one.trouble), None)
        if spoken or wish.text or wish.prompt:
            turn = self._turn_of(spoken, wish)
            if len(heard) == 1 and not wish.text:
                turn = replace(turn, sound=heard[0].sound)
            await self._give(reply, turn, timed, self._house_replies)
        elif trouble is not None:
            await self._own_words(
                reply, wish, timed, "the recogniser failed", TextDelta(trouble.spoken), error=str(trouble)
            )
        elif reply.by_request:
            await self._own_words(reply, wish, timed, "there were no words", TextDelta(own("I didn't hear anything.")))

    async def _speak_announcement(self, reply: SpokenReply) -> None:
        await self._own_words(reply, reply.wish, Trace(), "announcement", *self._announcement)

    async def _announcement_is_over(self) -> None:
        reply = self._announced
        if reply is not None:
            # Whoever gives up on what is being said would have it said again.
            with anyio.move_on_after(ANNOUNCING_SECONDS, shield=True):
                await reply.gone.wait()
        if reply is None or not (reply.complete or reply.hushed):
            raise EngineError(f"the speaker of {self.actor.device!r} is gone")

    async def _own_words(
        self,
        reply: SpokenReply,
        wish: ReplyOptions,
        timed: Trace,
        reason: str,
        *words: TextDelta | RecordedSpeech,
        error: str = "",
    ) -> None:
        """Say what the session, not an agent, has to say."""

        async def say(turn: Turn, emit: Emit) -> None:
            await emit(TurnStarted(turn.id, "house", reason))
            for piece in words:
                await emit(piece)
            text = "".join(piece.text for piece in words)
            await emit(TurnEnded(turn.id, "failed" if error else "done", text, "command", error=error))

        await self._give(reply, self._turn_of([], replace(wish, remembered=False)), timed, say)

    async def _give(self, reply: SpokenReply, turn: Turn, timed: Trace, work: Answer) -> None:
        async def tell(event: Event) -> None:
            if isinstance(event, TurnEnded) and reply.mouth is not None:  # from now on it can be truncated
                self._said[turn.id] = reply.mouth
            await self._emit(event)

        await reply.give(
            turn,
            work,
            emit=tell,
            remember=self._house_remembers,
            timed=timed,
            tts=self._tts if turn.spoken else None,
            speed=self.options.speed,
            ahead_seconds=self.options.ahead_seconds,
            waiting=self._waiting,
        )

    def _turn_of(self, spoken: list[Utterance], wish: ReplyOptions) -> Turn:
        only = spoken[0] if len(spoken) == 1 and not wish.text else None
        return Turn(
            id=wish.turn_id or fresh_id("turn"),
            text=" ".join([*(words.text for words in spoken), *([wish.text] if wish.text else [])]) or wish.prompt,
            actor=self.actor,
            at=time.time(),
            spoken=self.options.speak if wish.speak is None else wish.speak,
            channel="chat" if wish.text else "voice" if spoken else None,
            alternatives=only.alternatives if only else (),
            possible=only.possible if only else (),
            doubtful=bool(only and only.doubtful),
            margins=only.margins if only else (),
            language=spoken[-1].language if spoken and not wish.text else "",
            agent=wish.agent or self.wish.agent,
            history=wish.history,
            max_tokens=wish.max_tokens or self.wish.max_tokens,
            temperature=self.wish.temperature if wish.temperature is None else wish.temperature,
            instructions=wish.instructions or self.wish.instructions,
            tainted=wish.tainted or self.wish.tainted,
            remembered=wish.remembered,
            client_tools=wish.client_tools or self.wish.client_tools,
            wake_word="" if wish.text else self._wake_word,
        )

    # ── owning tasks, telling events ───────────────────────────────────────────────────────────────

    def _start(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
        assert self._tasks is not None, "run() owns the tasks, and does not run"
        self._tasks.start_soon(work, *arguments)

    async def _emit(self, event: Event) -> None:
        # A door turns one event into several messages and keeps count of them: cut in half, its count would be wrong.
        with anyio.CancelScope(shield=True):
            async with self._telling:
                await self._tell(event)
