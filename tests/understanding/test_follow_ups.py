"""What is said about the last command is understood as that, and only right after it."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.agents.agent_commands import ONE_AT_A_TIME
from atlas.conversation import Message, Tool, ToolCall
from atlas.understanding.grammar import Grammar
from tests.agents.conftest import Room, ask, commands_of, turn
from tests.conftest import for_every
from tests.houses import reader_of
from tests.scripted_tools import Preview, ScriptedRefusal, ScriptedResult, ScriptedTools

TOPICS = {
    "alarms": ("change", "set", "snooze", "stop"),
    "calendar": ("add", "change", "list", "remove"),
    "clock": ("time",),
    "history": ("undo",),
    "home": ("adjust", "lock", "pause", "set", "turn"),
    "lists": ("add", "clear", "remove"),
    "notes": ("remove",),
    "reminders": ("add", "cancel", "change"),
    "tasks": ("add", "remove"),
    "timers": ("add", "pause", "start"),
    "weather": ("forecast", "now"),
}
NAMES = [f"{topic}.{verb}" for topic, verbs in TOPICS.items() for verb in verbs]
READS = ("calendar.list", "clock.time", "weather.forecast", "weather.now")


class Talk:
    """One conversation with an agent whose tools do whatever they are asked."""

    def __init__(self, grammar: Grammar, names: list[str] = NAMES, previews: dict[str, Preview] | None = None) -> None:
        self.refuses = ""
        self.error = "not_found"
        self.undoes = 9  # so many times
        self.idle = ""  # the tool that finds nothing to change
        actions = [
            (Tool(name, name, {"type": "object"}, read_only=name in READS), self._action(name)) for name in names
        ]
        self.tools = ScriptedTools(actions, previews)
        self.agent = commands_of(grammar, self.tools)
        self.history: list[Message] = []

    def _action(self, name: str) -> Any:
        def act(arguments: Any, actor: Any) -> ScriptedResult:
            self.undoes -= name == "history.undo"
            if name == self.refuses or self.undoes < 0:
                raise ScriptedRefusal(self.error, "There is none.")
            return ScriptedResult(f"{name} done.", changed="" if name in (*READS, self.idle) else name)

        return act

    async def say(self, text: str, **more: Any) -> str | None:
        """Return what the agent says; `None` when it leaves the turn to others."""
        room = Room()
        answer = await self.agent.respond(turn(text, history=tuple(self.history), **more), room.emit)
        self.history.append(Message("user", text))
        if answer is None:
            self.history.append(Message("assistant", "I like the sea."))  # as a model would
            return None
        self.history += answer.messages
        return room.said

    @property
    def did(self) -> list[tuple[str, dict[str, Any]]]:
        return [(call.name, dict(call.arguments)) for call in self.tools.calls]


UNDO: tuple[str, dict[str, Any]] = ("history.undo", {})


@pytest.fixture
def talk(grammar: Grammar) -> Talk:
    return Talk(grammar)


@pytest.mark.parametrize(
    ("first", "then", "wanted"),
    [
        ("set a timer for five minutes", "no, ten minutes", ("timers.start", {"seconds": 600})),
        ("set a timer for five minutes", "No, ten minutes, please.", ("timers.start", {"seconds": 600})),
        ("set a timer for five minutes", "I meant fifteen minutes", ("timers.start", {"seconds": 900})),
        ("set a timer for five minutes", "make that ten minutes", ("timers.start", {"seconds": 600})),
        ("set a timer for five minutes", "make it fifteen", ("timers.start", {"seconds": 900})),
        ("set a timer for thirty seconds", "make that 45", ("timers.start", {"seconds": 45})),
        ("set a timer for five minutes", "no, set a timer for ten minutes", ("timers.start", {"seconds": 600})),
        ("set a five minute pizza timer", "sorry, six minutes", ("timers.start", {"seconds": 360, "name": "pizza"})),
        ("take two minutes off the timer", "no, three minutes", ("timers.add", {"by_seconds": -180})),
        (
            "remind me to call mum today at five",
            "I meant tomorrow",
            ("reminders.add", {"text": "call mum", "when": "tomorrow at five"}),
        ),
        (
            "remind me to call mum tomorrow at five",
            "no, at six",
            ("reminders.add", {"text": "call mum", "when": "tomorrow at six"}),
        ),
        (
            "remind me to call mum at five",
            "no, in ten minutes",
            ("reminders.add", {"text": "call mum", "when": "in ten minutes"}),
        ),
        (
            "remind me to call mum tomorrow at five",
            "move it to quarter to four",
            ("reminders.add", {"text": "call mum", "when": "tomorrow quarter to four"}),
        ),
        ("wake me at seven", "No, put it back to half past seven.", ("alarms.set", {"when": "half past seven"})),
        (
            "add dentist on Friday at ten",
            "move that to Thursday",
            ("calendar.add", {"title": "dentist", "start": "Thursday at ten"}),
        ),
        (
            "add dentist on Friday at ten",
            "make it Thursday at eleven instead",
            ("calendar.add", {"title": "dentist", "start": "Thursday at eleven"}),
        ),
        ("wake me at seven", "make it half past six", ("alarms.set", {"when": "half past six"})),
        (
            "add dentist on Friday at ten",
            "no, Thursday",
            ("calendar.add", {"title": "dentist", "start": "Thursday at ten"}),
        ),
        (
            "turn on the lights in the kitchen",
            "no, in the bedroom",
            ("home.turn", {"on": True, "kind": "light", "room": "bedroom"}),
        ),
        ("turn on the lamp", "no, off", ("home.turn", {"on": False, "device": "lamp"})),
        ("set the heating to 20 degrees", "no, 21", ("home.set", {"kind": "climate", "temperature": 21})),
        ("put milk on the list", "I meant oat milk", ("lists.add", {"items": ["oat milk"]})),
    ],
)
async def test_a_correction_takes_the_last_command_back_and_does_it_right(
    talk: Talk, first: str, then: str, wanted: tuple[str, dict[str, Any]]
) -> None:
    await talk.say(first)
    assert await talk.say(then) == f"Instead: {wanted[0]} done.", "what it was before is not said again"
    assert talk.did[1:] == [UNDO, wanted]


async def test_a_correction_can_be_corrected(talk: Talk) -> None:
    for text in ("set a timer for five minutes", "no, ten minutes", "no, twelve minutes"):
        await talk.say(text)
    assert talk.did[-2:] == [UNDO, ("timers.start", {"seconds": 720})]


async def test_a_question_is_corrected_without_taking_anything_back(talk: Talk) -> None:
    await talk.say("what's the weather tomorrow")
    await talk.say("no, I meant Friday")
    assert talk.did[1:] == [("weather.forecast", {"day": "Friday"})]


@pytest.mark.parametrize(
    "then",
    [
        "no",
        "no, don't",
        "no problem",
        "I meant well",
        "ten minutes",
        "no way",
    ],
)
async def test_what_corrects_nothing_does_nothing(talk: Talk, then: str) -> None:
    await talk.say("set a timer for five minutes")
    assert await talk.say(then) is None
    assert len(talk.did) == 1


@pytest.mark.parametrize(
    ("first", "then", "call"),
    [
        (
            "add dentist on Friday at ten",
            "put it an hour later",
            ("calendar.change", {"title": "dentist", "start": "an hour later"}),
        ),
        (
            "remind me to call mum at five",
            "actually push it back half an hour later",
            ("reminders.change", {"about": "call mum", "when": "half an hour later"}),
        ),
        ("wake me at seven", "make it an hour later", ("alarms.change", {"when": "an hour later"})),
    ],
)
async def test_what_was_just_written_down_moves_from_where_it_stands(
    talk: Talk, first: str, then: str, call: tuple[str, dict[str, str]]
) -> None:
    await talk.say(first)
    await talk.say(then)
    assert talk.did[1:] == [call]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("put milk on the list", "no, butter"),  # as well, instead, or none?
        ("put oat milk and rice milk on the list", "no, almond milk"),  # instead of which?
        ("set the heating to 20 degrees", "a bit louder"),
        ("what's on tomorrow", "move it to Friday"),  # which of it?
    ],
)
async def test_what_could_mean_several_things_is_not_guessed(talk: Talk, first: str, then: str) -> None:
    await talk.say(first)
    assert await talk.say(then) is None
    assert len(talk.did) == 1


async def test_only_the_last_turn_is_corrected(talk: Talk) -> None:
    await talk.say("set a timer for five minutes")
    await talk.say("do you like the sea")
    assert await talk.say("no, ten minutes") is None
    assert len(talk.did) == 1


async def test_what_was_refused_is_not_taken_back(talk: Talk) -> None:
    talk.refuses = "timers.start"
    await talk.say("set a timer for five minutes")
    assert await talk.say("no, ten minutes") is None, "the last change would be an older one"


@pytest.mark.parametrize(
    ("first", "then", "wanted"),
    [
        ("wake me at seven", "no, at eight", ("alarms.set", {"when": "at eight"})),  # it was set already
        ("put milk on the list", "I meant butter", ("lists.add", {"items": ["butter"]})),  # it was on it already
    ],
)
async def test_what_changed_nothing_is_put_right_and_nothing_older_taken_back(
    talk: Talk, first: str, then: str, wanted: tuple[str, dict[str, Any]]
) -> None:
    await talk.say("set a timer for five minutes")
    talk.idle = wanted[0]
    await talk.say(first)
    await talk.say(then)
    [(name, arguments)] = talk.did[2:]
    assert (name, arguments | wanted[1]) == (wanted[0], arguments)


@pytest.mark.parametrize(("then", "text"), [("cancel that", None), ("never mind", "All right.")])
async def test_what_changed_nothing_cannot_be_taken_back(talk: Talk, then: str, text: str | None) -> None:
    await talk.say("set a timer for five minutes")
    talk.idle = "lists.add"
    await talk.say("put milk on the list")
    assert await talk.say(then) == text
    assert len(talk.did) == 2, "the timer goes on"


async def test_nothing_new_is_done_when_the_old_cannot_be_taken_back(talk: Talk) -> None:
    await talk.say("set a timer for five minutes")
    talk.refuses = "history.undo"
    assert await talk.say("no, ten minutes") == "There is none."
    assert talk.did[1:] == [UNDO]


async def test_when_the_new_one_fails_the_old_one_is_put_back_and_that_is_said(talk: Talk) -> None:
    await talk.say("wake me at seven")
    talk.refuses = "alarms.set"
    assert await talk.say("no, at quarter past six") == "There is none. So I have put the old one back."
    back = talk.did[-1]
    assert (back[0], list(back[1])) == ("history.undo", ["receipt"]), "of the very undo, whatever happened since"


async def test_when_it_cannot_be_put_back_all_that_happened_is_said(talk: Talk) -> None:
    await talk.say("wake me at seven")
    talk.refuses, talk.undoes = "alarms.set", 1
    assert await talk.say("no, at quarter past six") == "history.undo done. There is none."


async def test_what_may_have_been_done_after_all_has_nothing_put_in_its_place(talk: Talk) -> None:
    await talk.say("wake me at seven")
    talk.refuses, talk.error = "alarms.set", "timeout"
    assert await talk.say("no, at quarter past six") == "history.undo done. There is none."
    assert [name for name, _ in talk.did] == ["alarms.set", "history.undo", "alarms.set"]


async def test_a_correction_that_must_be_asked_about_says_what_is_gone(grammar: Grammar) -> None:
    talk = Talk(grammar)
    await talk.say("add dentist on Friday at ten")
    asks = {"calendar.add": Preview(lambda arguments, actor: "Write that down?")}
    agent = commands_of(grammar, Talk(grammar, previews=asks).tools)
    _, room = await ask(agent, "no, Thursday", history=tuple(talk.history))
    assert room.said == "history.undo done. Write that down?"


async def test_what_was_taken_back_in_so_many_words_is_not_put_back(talk: Talk) -> None:
    await talk.say("wake me at seven")
    talk.refuses = "timers.start"
    assert await talk.say("undo that and set a timer for ten minutes") == "history.undo done. There is none."
    assert [name for name, _ in talk.did] == ["alarms.set", "history.undo", "timers.start"]


async def test_an_alarm_that_was_stopped_is_not_snoozed_again(talk: Talk) -> None:
    await talk.say("stop the alarm")
    assert await talk.say("five more minutes") == "Shall I add that to the timer, or snooze the alarm?"
    assert [name for name, _ in talk.did] == ["alarms.stop"]


async def test_a_misheard_dont_stops_nothing_but_is_no_correction(talk: Talk) -> None:
    await talk.say("set a timer for five minutes")
    assert await talk.say("ten minutes", alternatives=("no don't",)) is None


@pytest.mark.parametrize(
    ("first", "then", "wanted"),
    [
        ("put milk on the list", "and eggs too", ("lists.add", {"items": ["eggs"]})),
        ("put milk on the list", "And eggs and bread as well, please.", ("lists.add", {"items": ["eggs", "bread"]})),
        ("put milk on the list", "also butter", ("lists.add", {"items": ["butter"]})),
        ("put pegs on the camping list", "and a torch", ("lists.add", {"items": ["torch"], "list": "camping"})),
        ("what's the weather", "and tomorrow?", ("weather.forecast", {"day": "tomorrow"})),
        ("what's the weather tomorrow", "what about Friday?", ("weather.forecast", {"day": "Friday"})),
        ("what's the weather tomorrow", "and in Paris?", ("weather.forecast", {"day": "tomorrow", "place": "Paris"})),
        ("what time is it", "and in Tokyo?", ("clock.time", {"place": "Tokyo"})),
        ("what time is it in Tokyo", "and New York?", ("clock.time", {"place": "New York"})),
        ("turn on the kitchen light", "and the hall light", ("home.turn", {"on": True, "device": "hall light"})),
        ("turn on the kitchen light", "turn it off again", ("home.turn", {"on": False, "device": "kitchen light"})),
        ("set a timer for five minutes", "cancel that", UNDO),
        ("put milk on the list", "take it off again", UNDO),
        ("put milk on the list", "never mind", UNDO),
        ("set a timer for five minutes", "Oh, never mind.", UNDO),
        ("add call the plumber to my tasks", "no, never mind", UNDO),
        (
            "set the heating to 20 degrees",
            "a bit warmer",
            ("home.adjust", {"kind": "climate", "what": "temperature", "by": 1}),
        ),
        (
            "set the heating to 20 degrees",
            "turn it down a bit",
            ("home.adjust", {"kind": "climate", "what": "temperature", "by": -1}),
        ),
        (
            "dim the lights to 95 percent",
            "a little brighter",
            ("home.adjust", {"kind": "light", "what": "brightness", "by": 15}),
        ),
        ("set the volume to 40", "quieter please", ("home.adjust", {"kind": "media", "what": "volume", "by": -10})),
        ("set a timer for five minutes", "ten more minutes", ("timers.add", {"seconds": 300, "by_seconds": 600})),
        ("set a pizza timer for five minutes", "another minute", ("timers.add", {"name": "pizza", "by_seconds": 60})),
        (
            "set a pizza timer for five minutes",
            "make it two minutes longer",
            ("timers.add", {"name": "pizza", "by_seconds": 120}),
        ),
        ("add a minute to the timer", "two minutes less", ("timers.add", {"by_seconds": -120})),
        ("snooze", "five more minutes", ("alarms.snooze", {"minutes": 5})),
        ("what's on today", "and tomorrow?", ("calendar.list", {"day": "tomorrow"})),
        (
            "turn off the kitchen lights",
            "and the bedroom",
            ("home.turn", {"on": False, "kind": "light", "room": "bedroom"}),
        ),
    ],
)
async def test_a_follow_up_does_the_same_for_one_thing_more(
    talk: Talk, first: str, then: str, wanted: tuple[str, dict[str, Any]]
) -> None:
    await talk.say(first)
    assert await talk.say(then) == f"{wanted[0]} done."
    assert talk.did[1:] == [wanted]


@pytest.mark.parametrize("then", ["and then what", "and you?", "what about love", "me too", "and turn", "off you go"])
async def test_what_follows_nothing_does_nothing(talk: Talk, then: str) -> None:
    await talk.say("put milk on the list")
    assert await talk.say(then) is None
    assert len(talk.did) == 1


async def test_an_answer_cannot_be_taken_back(talk: Talk) -> None:
    await talk.say("what time is it")
    assert await talk.say("cancel that") is None


@pytest.mark.parametrize("then", ["never mind", "Oh, forget it.", "It doesn't matter.", "nothing"])
async def test_what_needs_no_taking_back_is_left_with_a_calm_word(talk: Talk, then: str) -> None:
    await talk.say("what time is it")
    assert await talk.say(then) == "All right."
    assert len(talk.did) == 1


async def test_more_time_for_what_nobody_spoke_of_is_asked_about(talk: Talk) -> None:
    await talk.say("put milk on the list")
    assert await talk.say("ten more minutes") == "Shall I add that to the timer, or snooze the alarm?"


async def test_a_new_command_is_no_follow_up(talk: Talk) -> None:
    await talk.say("put milk on the list")
    await talk.say("and set a timer for ten minutes")
    assert talk.did[-1] == ("timers.start", {"seconds": 600})


# ── half a command ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("half", "answers", "wanted"),
    [
        ("add milk", "the shopping list", ("lists.add", {"items": ["milk"]})),
        ("add milk", "On the tasks, please.", ("tasks.add", {"title": "milk"})),
        ("add milk", "the first one", ("lists.add", {"items": ["milk"]})),
        ("remove milk", "from the list", ("lists.remove", {"items": ["milk"]})),
        ("cancel the dentist", "the appointment", ("calendar.remove", {"title": "dentist"})),
        ("cancel the dentist", "the reminder", ("reminders.cancel", {"about": "dentist"})),
        ("remind me to call mum", "this evening", ("reminders.add", {"text": "call mum", "when": "this evening"})),
        (
            "remind me to call mum",
            "tomorrow at nine",
            ("reminders.add", {"text": "call mum", "when": "tomorrow at nine"}),
        ),
        (
            "remind Anna to call mum",
            "at five",
            ("reminders.add", {"text": "call mum", "person": "Anna", "when": "at five"}),
        ),
        ("set an alarm", "seven", ("alarms.set", {"when": "at seven"})),
        ("wake me up", "at half past six", ("alarms.set", {"when": "at half past six"})),
        ("set a timer", "ten minutes", ("timers.start", {"seconds": 600})),
        ("set a timer", "five", ("timers.start", {"seconds": 300})),
        ("set a timer for ten", "the timer", ("timers.start", {"seconds": 600})),
        ("set a timer for ten", "an alarm please", ("alarms.set", {"when": "at ten o'clock"})),
        ("set a timer for ten", "The second one.", ("alarms.set", {"when": "at ten o'clock"})),
        ("set a timer for thirty", "seconds", ("timers.start", {"seconds": 30})),
        ("five more minutes", "on the timer", ("timers.add", {"by_seconds": 300})),
        ("another five minutes", "snooze it", ("alarms.snooze", {"minutes": 5})),
        ("pause", "the timer", ("timers.pause", {})),
        ("remind me at five", "to call mum", ("reminders.add", {"text": "call mum", "when": "at five"})),
        ("remind me at five", "just an alarm", ("alarms.set", {"when": "at five"})),
        (
            "add dentist to the calendar",
            "Friday at ten",
            ("calendar.add", {"title": "dentist", "start": "Friday at ten"}),
        ),
        (
            "remind me to call mum",
            "the second one",
            ("reminders.add", {"text": "call mum", "when": "tomorrow morning"}),
        ),
        ("dim the lights", "twenty percent", ("home.set", {"kind": "light", "brightness": 20})),
        ("dim the lights", "the first one", ("home.set", {"kind": "light", "brightness": 30})),
        ("set a pizza timer", "for ten minutes", ("timers.start", {"seconds": 600, "name": "pizza"})),
    ],
)
async def test_what_is_missing_is_asked_for_once_and_then_done(
    talk: Talk, half: str, answers: str, wanted: tuple[str, dict[str, Any]]
) -> None:
    question = await talk.say(half)
    assert question and question.endswith("?") and ", or " in question
    assert talk.did == []
    await talk.say(answers)
    assert talk.did == [wanted]


@pytest.mark.parametrize("no", ["never mind", "no", "Forget it."])
async def test_a_question_can_be_left(talk: Talk, no: str) -> None:
    await talk.say("add milk")
    assert await talk.say(no) == "All right."
    assert talk.did == []


@pytest.mark.parametrize(
    ("half", "other"),
    [
        ("set a timer for ten", "yes"),
        ("set a timer for ten", "it is ten already"),
        ("remind me at five", "what do you mean"),
        ("remind me at five", "cheese"),
        ("remind me to call mum", "purple"),
        ("dim the lights", "the kitchen"),
        ("set a pizza timer", "I like pizza"),
    ],
)
async def test_what_answers_nothing_drops_the_question(talk: Talk, half: str, other: str) -> None:
    assert await talk.say(half)
    assert await talk.say(other) is None
    assert await talk.say("the first one") is None
    assert talk.did == []


async def test_other_words_than_an_answer_are_a_new_request(talk: Talk) -> None:
    await talk.say("add milk")
    await talk.say("set a timer for ten minutes")
    assert talk.did == [("timers.start", {"seconds": 600})]
    assert await talk.say("the shopping list") is None, "that question is over"


@pytest.mark.parametrize(
    "text",
    [
        "add two and two",
        "add salt to the soup",
        "add some drama to the story",
        "cancel my subscription to the paper",
        "remove the stain from my shirt",
    ],
)
async def test_what_is_less_than_half_is_not_asked_about(talk: Talk, text: str) -> None:
    assert await talk.say(text) is None


async def test_nothing_is_asked_that_the_agent_could_not_do(grammar: Grammar) -> None:
    assert await Talk(grammar, ["lists.add"]).say("add milk") is None


# ── several at once ────────────────────────────────────────────────────────────────────────────────


async def test_two_commands_are_both_done_and_told(talk: Talk) -> None:
    text = await talk.say("Set a timer for ten minutes and add milk to the list.")
    assert text == "timers.start done. lists.add done."
    assert talk.did == [("timers.start", {"seconds": 600}), ("lists.add", {"items": ["milk"]})]


async def test_when_one_of_two_is_no_tool_of_this_agent_neither_is_done(grammar: Grammar) -> None:
    talk = Talk(grammar, ["timers.start"])
    assert await talk.say("set a timer for ten minutes and add milk to the list") is None
    assert talk.did == []


async def test_a_question_about_one_of_two_comes_last_and_waits_for_its_yes(grammar: Grammar) -> None:
    talk = Talk(grammar, previews={"lists.clear": Preview(lambda arguments, actor: "Clear the shopping list?")})
    answer, room = await ask(talk.agent, "clear the shopping list and set a timer for ten minutes")
    assert room.said == "timers.start done. Clear the shopping list?"
    assert answer.pending and answer.pending.call.name == "lists.clear"


async def test_of_two_questions_only_one_is_asked(grammar: Grammar) -> None:
    asks = {name: Preview(lambda arguments, actor: "Really?") for name in ("lists.clear", "notes.remove")}
    answer, room = await ask(Talk(grammar, previews=asks).agent, "clear the shopping list and delete the paint note")
    assert room.said == f"{ONE_AT_A_TIME} Really?"
    assert answer.pending and answer.pending.call.name == "lists.clear"


def test_a_history_that_is_not_ours_is_only_words(grammar: Grammar) -> None:
    call = ToolCall("1", "timers.start", {"seconds": 300})
    strange = (
        Message("user", "x"),
        Message("assistant", calls=(call,)),
        Message("tool", "[1, 2]", call_id="1"),
        Message("tool", "no json", call_id="1"),
        Message("assistant", "done"),
    )
    assert reader_of(grammar).understand(turn("no, ten minutes", history=strange)).empty


async def test_a_correction_to_what_is_so_already_says_that_it_is(talk: Talk) -> None:
    await talk.say("set a timer for ten minutes")
    assert await talk.say("no, ten minutes") == "It is ten minutes already."
    assert await talk.say("set a timer for ten minutes") == "timers.start done."
    assert await talk.say("no, I said set a timer for ten minutes") == "It is so already."
    await talk.say("add milk to the shopping list")
    assert await talk.say("I meant milk") == "It is milk already."
    assert [tool for tool, _ in talk.did] == ["timers.start", "timers.start", "lists.add"]


@pytest.mark.parametrize(
    "text",
    ["don't set a timer", "Please don't turn off the kitchen light.", "do not lock the front door", "don't add milk"],
)
async def test_who_says_not_to_do_something_hears_that_it_was_not_done(talk: Talk, text: str) -> None:
    assert await talk.say(text) == "All right. I did nothing."
    assert talk.did == []


@pytest.mark.parametrize(
    "text",
    [
        "don't you think it is cold",
        "don't worry",
        "don't stop",
        "don't set a timer, set an alarm at 7",
        "don't set a timer for ten minutes and lock the front door",
        "don't set a timer but lock the front door",
        "I don't set a timer",
        "why don't you set a timer",
    ],
)
async def test_other_denials_are_left_to_the_model(talk: Talk, text: str) -> None:
    assert await talk.say(text) is None
    assert talk.did == []


async def test_what_must_not_be_forgotten_is_asked_for_still(talk: Talk) -> None:
    assert "When" in str(await talk.say("don't let me forget to call mum"))


@pytest.mark.parametrize(
    "text", ["add milk and what time is it", "what time is it and add milk", "Add milk, what time is it?"]
)
async def test_a_question_beside_half_a_command_is_answered_before_what_is_missing_is_asked(
    talk: Talk, text: str
) -> None:
    assert await talk.say(text) == "clock.time done. Shall I put that on the shopping list, or on your tasks?"
    assert await talk.say("the shopping list") == "lists.add done."
    assert talk.did == [("clock.time", {}), ("lists.add", {"items": ["milk"]})]


@pytest.mark.parametrize(
    "text",
    ["add milk and what is love", "add milk and what else", "add milk and lock the front door", "add milk and why"],
)
async def test_half_a_command_beside_anything_but_a_question_for_the_house_does_nothing(talk: Talk, text: str) -> None:
    assert await talk.say(text) is None
    assert talk.did == []


async def test_a_question_that_the_house_has_no_tool_for_is_not_answered_by_half(grammar: Grammar) -> None:
    talk = Talk(grammar, ["lists.add", "tasks.add"])
    assert await talk.say("add milk and what time is it") is None
    assert talk.did == []


async def test_right_after_an_undo_put_it_back_does_it_again_and_else_takes_it_back(talk: Talk) -> None:
    await talk.say("wake me at seven")
    await talk.say("put it back")
    assert talk.did[-1] == ("history.undo", {})
    await talk.say("put it back")
    assert talk.did[-1] == ("history.undo", {"again": True})
    await talk.say("what time is it")
    await talk.say("put it back")
    assert talk.did[-1] == ("history.undo", {})
    await talk.say("undo that")
    assert talk.did[-1] == ("history.undo", {}), "the change before it"
    await talk.say("redo that")
    assert talk.did[-1] == ("history.undo", {"again": True})


@for_every(
    ("text", "tool", "arguments"),
    [
        ("add milk to the list, no wait, bread", "lists.add", {"items": ["bread"]}),
        ("set a timer for eight minutes, no, ten", "timers.start", {"seconds": 600}),
        ("set an alarm for seven, no, half past six", "alarms.set", {"when": "half past six"}),
    ],
)
def test_a_sentence_that_puts_itself_right_means_what_it_says_last(
    grammar: Grammar, text: str, tool: str, arguments: dict[str, object]
) -> None:
    made = reader_of(grammar).read(text).commands
    assert [(one.tool, dict(one.arguments)) for one in made] == [(tool, arguments)]
