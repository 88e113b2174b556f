"""Say dialogues to the house of a bench and print all that it does, for people to judge: no model, scripted devices.

.venv/bin/python scripts/talk.py FILE --house HOUSE.json [--language de]   # such as atlas_bench/blind/fourteenth/en

A line of the file is a sentence; "@Kitchen" is where the next ones are said, and "--" begins a new dialogue, for which
the house is as it was at first. "# …" says what its writer wants of the sentence before, and is not said.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio

from atlas.config import load
from atlas.conversation import Message
from atlas_bench import _effects
from atlas_bench._household import household


def dialogues(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the room and the sentences of each dialogue."""
    room, sentences = "", list[str]()
    for line in [*text.splitlines(), "--"]:
        if line.startswith("@") or line == "--":
            if sentences:
                yield room, sentences
            sentences = []
        room = line[1:] if line.startswith("@") else room
        if line and line != "--" and not line.startswith(("@", "# ")):
            sentences.append(line)


async def talk(text: str, house: Path, rules: str, language: str) -> None:
    """Print each sentence, the tools that it called with their arguments, and what was answered."""
    devices = _effects.read_house(house)
    for room, sentences in dialogues(text):
        with tempfile.TemporaryDirectory() as folder:
            async with household(Path(folder), devices, language, rules, _effects.AT) as home:
                await _effects.prepare(home)
                history: tuple[Message, ...] = ()
                for sentence in sentences:
                    outcome = await home.say(sentence, room, history)
                    history += outcome.messages
                    calls = "; ".join(f"{call.name} {dict(call.arguments)}" for call, _ in outcome.calls)
                    print(f"> {sentence}\n    {calls}\n    {outcome.text}")
        print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="sentences, one a line")
    parser.add_argument("--house", type=Path, required=True, help="its devices, as [tools.home.scripted] has them")
    parser.add_argument("--language", default="en", help="of the sentences")
    given = parser.parse_args()
    allowed = load(os.environ).tools.policy.read_text(encoding="utf-8")
    anyio.run(talk, given.file.read_text(encoding="utf-8"), given.house, allowed, given.language)
