"""How well sentences are understood: intent, slots and silence, over a corpus and a held-out one, and how fast."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas.config import Config
from atlas.understanding.grammar import Command, open_grammar
from atlas.understanding.understanding import Reader

CORPUS = Path(__file__).parent / "corpus"
HELD_OUT = "heldout"  # files named so were never tuned on: what they show is how strangers will be understood
ROUNDS = 5  # for the times: each sentence counts with its median, for other work on the machine hits all of them

TARGETS = {"wrong_percent": 2.0, "acted_when_silent_percent": 0.5, "p99_ms": 10.0}

Calls = Sequence[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """One sentence of the corpus and the calls it should become; none when nothing may be done."""

    file: str
    sentence: str
    wanted: Calls

    @property
    def held_out(self) -> bool:
        """Whether the grammar was made without it."""
        return self.file.startswith(HELD_OUT)


def corpus(language: str) -> Iterator[CorpusRow]:
    """Yield the sentences of a language: `said TAB tool {arguments} [TAB tool {arguments}]`, or `said TAB -`."""
    for file in sorted((CORPUS / language).glob("*.tsv")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            text, *calls = line.split("\t")
            pairs = [call.partition(" ") for call in calls if call != "-"]
            yield CorpusRow(file.stem, text, [(tool, json.loads(arguments)) for tool, _, arguments in pairs])


async def measure(config: Config) -> dict[str, float]:
    """Return percentages of what was misunderstood, and milliseconds a sentence. Failures are listed on stderr."""
    rows = list(corpus(config.house.language))
    began = time.perf_counter()
    reader = Reader(open_grammar(config.house.language))
    opened = time.perf_counter() - began
    taken: dict[str, list[float]] = {row.sentence: [] for row in rows}
    for _ in range(ROUNDS):  # nothing of a round is remembered in the next: there are more sentences than that
        for row in rows:
            at = time.perf_counter()
            reader.read(row.sentence)
            taken[row.sentence].append((time.perf_counter() - at) * 1000)
    medians = [statistics.median(items) for items in taken.values()]
    known = [row for row in rows if not row.held_out]
    new = [row for row in rows if row.held_out]
    return {
        **_figures(reader, known, ""),
        **_figures(reader, new, "held_out_"),
        "open_ms": round(opened * 1000, 1),
        "p50_ms": round(statistics.median(medians), 2),
        "p99_ms": round(statistics.quantiles(medians, n=100)[98], 2),
    }


def _figures(reader: Reader, rows: Sequence[CorpusRow], kind: str) -> dict[str, float]:
    commands = [row for row in rows if row.wanted]
    silent = [row for row in rows if not row.wanted]
    declined = other_intent = other_slots = acted = 0
    for row in rows:
        got = _calls(reader.read(row.sentence).commands)
        if got == row.wanted:
            continue
        print(
            f"  {kind}{row.file}: {row.sentence!r} → {got or 'nothing'}, not {row.wanted or 'nothing'}", file=sys.stderr
        )
        if not row.wanted:
            acted += 1
        elif not got:
            declined += 1
        elif [tool for tool, _ in got] != [tool for tool, _ in row.wanted]:
            other_intent += 1
        else:
            other_slots += 1
    return {
        f"{kind}sentences": len(commands),
        f"{kind}silent_sentences": len(silent),
        f"{kind}wrong_intent_percent": _percent(other_intent, commands),
        f"{kind}wrong_slots_percent": _percent(other_slots, commands),
        f"{kind}declined_percent": _percent(declined, commands),  # nothing was done: left to a model
        f"{kind}wrong_percent": _percent(declined + other_intent + other_slots, commands),
        f"{kind}acted_when_silent_percent": _percent(acted, silent),
    }


def _calls(commands: Sequence[Command]) -> Calls:
    return [(command.tool, dict(command.arguments)) for command in commands]


def _percent(part: int, of: Sequence[CorpusRow]) -> float:
    return round(100 * part / len(of), 2) if of else 0.0


if __name__ == "__main__":
    import os

    import anyio

    from atlas.config import load

    print(anyio.run(measure, load(os.environ)))
