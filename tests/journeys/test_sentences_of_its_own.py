"""A household writes sentences of its own into a file; the running house understands them, typed and spoken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import Running, until

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]

SENTENCES = """\
language: en
intents:
  Fish:
    data: [{sentences: ["(feed|treat) the goldfish"]}]
  Laundry:
    data: [{sentences: ["the {machine} is (running|on)"]}]
lists:
  machine: {values: [washing machine, dryer]}
responses:
  intents:
    Fish: {default: "Two pinches, no more."}
intent_script:
  Laundry:
    action: [{action: timers.start, data: {seconds: 3600, name: "{{ machine }}"}}]
    speech: {text: "I'll tell you when the {{ machine }} is done."}
"""


@pytest.fixture
def file(house: Running) -> Iterator[Path]:
    file = house.data / "sentences.yaml"
    file.write_text(SENTENCES)
    until(lambda: seen(house) == "2 in sentences.yaml", 30, "the sentences being read")
    yield file
    file.unlink()
    until(lambda: seen(house) == "none yet", 30, "the sentences being gone")


def part(house: Running) -> dict[str, Any]:
    health = house.health()
    assert health
    return dict(health["parts"]["sentences"])


def seen(house: Running) -> str:
    return str(part(house)["what"])


def test_they_are_understood_when_typed_and_when_spoken(
    house: Running, file: Path, wav_of: Callable[[str], Path]
) -> None:
    assert house.json_of("ask", "feed the goldfish")["reply"] == "Two pinches, no more."
    details = house.turn_of("hear", str(wav_of("The washing machine is running.")))
    assert details["tools"][0]["name"] == "timers.start"
    assert details["tools"][0]["receipt"]
    assert details["reply"] == "I'll tell you when the washing machine is done."
    assert "washing machine" in house.json_of("ask", "how long is left on the washing machine timer")["reply"]
    assert "“feed the goldfish”, “the washing machine is running”" in house.json_of("ask", "what can you do")["reply"]


def test_a_change_counts_at_once_and_a_mistake_leaves_what_was(house: Running, file: Path) -> None:
    file.write_text(SENTENCES.replace("Two pinches", "Three pinches"))
    until(
        lambda: house.json_of("ask", "treat the goldfish")["reply"] == "Three pinches, no more.", 30, "the new sentence"
    )
    file.write_text(SENTENCES.replace("timers.start", "timers.begin"))
    until(lambda: not part(house)["ok"], 30, "the mistake being told")
    assert "sentences.yaml, line 14: there is no tool timers.begin" in seen(house)
    assert house.json_of("ask", "treat the goldfish")["reply"] == "Three pinches, no more."
    file.write_text(SENTENCES)
    until(lambda: part(house)["ok"], 30, "the mistake being mended")
