"""A house of two languages: each turn is understood and answered in its own, and what leans on it in the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.journeys.conftest import ROOT, Running, house_without_weights

pytestmark = pytest.mark.real  # no weights, but every process of a house
HOUSE = {
    "rooms": [{"name": "kitchen", "aliases": ["Küche"]}, {"name": "Wohnzimmer", "aliases": ["living room"]}],
    "devices": [
        {
            "name": "kitchen light",
            "aliases": ["Küchenlicht"],
            "kind": "light",
            "room": "kitchen",
            "can": ["on"],
            "state": {"on": False},
        },
        {
            "name": "Stehlampe",
            "aliases": ["floor lamp"],
            "kind": "light",
            "room": "Wohnzimmer",
            "can": ["on"],
            "state": {"on": False},
        },
    ],
}
TALK = [  # said to one house, one after the other
    ("turn on the kitchen light", "en", r"The kitchen light is now on\."),
    ("mach das Küchenlicht an", "de", r".* ist schon an\."),
    ("und wieder aus", "de", r".* ist jetzt aus\."),
    ("and on again", "en", r"The kitchen light is now on\."),
    ("what time is it", "en", r"It's .*"),
    ("Wie spät ist es?", "de", r"Es ist \d{1,2} Uhr.*"),
    ("stell einen Timer auf zehn Minuten", "de", r"Timer gestellt auf 10 Minuten\."),
    ("Timer Status", "de", r"Dein 10-Minuten-Timer läuft noch .*"),
    ("how long is left on my timer", "en", r"Your 10 minute timer has .* left\."),
    ("Timer Status", "en", r"Your 10 minute timer has .* left\."),
    ("cancel all timers", "en", r"Timer cancelled\."),
    ("turn off the Stehlampe", "en", r"The Stehlampe in the Wohnzimmer is already off\."),
    ("schalte die Stehlampe ein", "de", r"Die Stehlampe im Wohnzimmer ist jetzt an\."),
    ("Wie ist das Wetter morgen?", "de", r"Ich weiß nicht, wo zu Hause ist\..*"),
    ("Hilfe, es brennt!", "de", r".*raus.*"),
    ("help, there's a fire", "en", r"Get everybody out.*"),
]


@pytest.fixture(scope="module")
def house_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A house without weights: nothing that is typed here needs a model, an ear or a mouth."""
    folder: Path = tmp_path_factory.mktemp("two")
    (folder / "house.json").write_text(json.dumps(HOUSE))
    settings = (ROOT / "atlas.toml").read_text().replace('language = "en"', 'languages = ["en", "de"]', 1)
    with house_without_weights(folder, settings + '\n[tools.home.scripted]\nfile = "house.json"\n') as running:
        yield running


def _ask(house: Running, text: str, history: list[dict[str, str]] | None = None) -> tuple[str, str]:
    """Return the language and the words of an answer; without a history, in the conversation that the house keeps."""
    messages: Any = [*(history or []), {"role": "user", "content": text}]
    body = {} if history is not None else {"atlas": {"remember": True}}
    answer: Any = house.client().chat.completions.create(model="family", messages=messages, extra_body=body)
    message = answer.choices[0].message
    return message.atlas["language"], message.content


def test_each_turn_is_answered_in_the_language_in_which_it_is_said(house_of_two: Running) -> None:
    wrong = []
    for text, language, reply in TALK:
        answered = _ask(house_of_two, text)
        if answered[0] != language or not re.fullmatch(reply, answered[1], re.DOTALL):
            wrong.append(f"{text}: {answered}")
    assert wrong == [], "\n".join(wrong)


def test_what_a_client_keeps_itself_tells_the_language_of_what_leans_on_it(house_of_two: Running) -> None:
    for request, language in (("mach das Küchenlicht an", "de"), ("turn on the kitchen light", "en")):
        _, reply = _ask(house_of_two, request, [])
        history = [{"role": "user", "content": request}, {"role": "assistant", "content": reply}]
        assert _ask(house_of_two, "okay", history)[0] == language


def test_a_yes_in_either_language_answers_a_question_in_the_other(house_of_two: Running) -> None:
    for wish, answer, language in (
        ("delete everything I said", "ja", "de"),
        ("lösche alles, was ich gesagt habe", "yes", "en"),
    ):
        asked = _ask(house_of_two, wish)
        assert asked[1].rstrip().endswith("?") or "?" in asked[1], asked
        assert _ask(house_of_two, answer)[0] == language


def test_timers_ring_in_the_language_in_which_they_were_set(house_of_two: Running) -> None:
    address = f"ws://127.0.0.1:{house_of_two.port}/v1/realtime?model=family"
    with connect(address, additional_headers={"Authorization": f"Bearer {house_of_two.token}"}, max_size=None) as line:

        def reply() -> str:
            while True:
                event = json.loads(line.recv(30))
                if event["type"] == "response.output_audio_transcript.done":
                    return str(event["transcript"])

        def ask(text: str) -> None:
            content = [{"type": "input_text", "text": text}]
            item = {"type": "message", "role": "user", "content": content}
            line.send(json.dumps({"type": "conversation.item.create", "item": item}))
            line.send(json.dumps({"type": "response.create"}))

        for text, ring in (
            ("stell einen Timer auf eine Sekunde", "Dein 1-Sekunden-Timer ist abgelaufen."),
            ("set a timer for one second", "Your 1 second timer is done."),
        ):
            ask(text)
            reply()
            assert reply() == ring
