"""How well a whole house without a model understands: the public test sentences, or a list of sentences.

    atlas bench understanding --ohf DIR [--language de]           a checkout of OHF-Voice/intents
    atlas bench understanding --file F.jsonl --house H.json       a line for each sentence, and what should come of it

Each sentence is said to a fresh house: real tools over a scripted hub, real agents. Printed per group: understood,
asked (back), left (to a model, which there is none of), refused (by a tool), wrong (something else was done or looked
at), acted (though nothing was to be done). What was not understood is listed on stderr.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from atlas.config import Config
from atlas.conversation import Actor, Message, Turn
from atlas.errors import ConfigError
from atlas_bench import _effects, _ohf
from atlas_bench._household import BenchHousehold, household, reader_of

Verdict = Literal["understood", "asked", "left", "refused", "wrong", "acted"]
VERDICTS: tuple[Verdict, ...] = ("understood", "asked", "left", "refused", "wrong", "acted")
TARGETS = {"wrong_percent": 1.0, "acted_percent": 0.5, "p99_ms": 15.0}


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this benchmark can be told."""
    parser.add_argument("--ohf", type=Path, help="a checkout of OHF-Voice/intents")
    parser.add_argument("--language", default="en", help="of the sentences")
    parser.add_argument("--file", type=Path, action="append", default=[], help="sentences, a JSON object a line")
    parser.add_argument("--house", type=Path, help="the house of --file, as [tools.home.scripted] has it")


@dataclass
class UnderstandingTally:
    """What came of all sentences so far."""

    groups: dict[str, Counter[Verdict]] = field(default_factory=lambda: defaultdict(Counter))
    milliseconds: list[float] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # that the public grammar alone does not recognise

    def add(self, group: str, verdict: Verdict, text: str, why: str) -> None:
        """Count one sentence."""
        self.groups[group][verdict] += 1
        if verdict != "understood":
            print(f"  {group}: {verdict}: {text!r} {why}", file=sys.stderr)

    def figures(self) -> dict[str, float]:
        """Print a line for each group; return the total in percent, and the time that understanding took."""
        total: Counter[Verdict] = Counter()
        print(f"{'':30} {'all':>5}" + "".join(f"{verdict:>11}" for verdict in VERDICTS))
        for group, counts in sorted(self.groups.items()):
            total += counts
            print(f"{group:30} {counts.total():5}" + "".join(f"{counts[verdict]:11}" for verdict in VERDICTS))
        print(f"{'total':30} {total.total():5}" + "".join(f"{total[verdict]:11}" for verdict in VERDICTS))
        for text in self.unknown:
            print(f"not in the public grammar of the package: {text!r}")
        quantiles = statistics.quantiles(2 * self.milliseconds or [0.0, 0.0], n=100)  # two of one, for one has none
        percent = {f"{verdict}_percent": round(100 * total[verdict] / max(1, total.total()), 2) for verdict in VERDICTS}
        return {
            "sentences": total.total(),
            **percent,
            "p50_ms": round(quantiles[49], 2),
            "p99_ms": round(quantiles[98], 2),
        }


async def measure(config: Config, given: argparse.Namespace | None = None) -> dict[str, float]:
    """Return the shares of all sentences, in percent, and the milliseconds that understanding one took."""
    if given is None or not (given.ohf or given.file):
        raise ConfigError(
            "there is nothing to understand", hint="give --ohf DIR, or --file F.jsonl with --house H.json"
        )
    tally = UnderstandingTally()
    if given.ohf:
        await _public(config, given.ohf, given.language, tally)
    for file in given.file:
        if given.house is None:
            raise ConfigError("--file needs a house", hint="--house H.json")
        await _listed(config, file, given.house, given.language, tally)
    return tally.figures()


async def _listed(config: Config, file: Path, house: Path, language: str, tally: UnderstandingTally) -> None:
    """Say every sentence of a list to a house of its own; those of a dialogue to one."""
    devices, rules = _effects.read_house(house), _rules(config)
    for row in _effects.read(file):
        spoken = row.language or language
        with tempfile.TemporaryDirectory(prefix="atlas-bench-", dir=_memory()) as folder:
            async with household(Path(folder), devices, spoken, rules, _effects.AT) as home:
                await _effects.prepare(home)
                verdicts: list[Verdict] = []
                history: tuple[Message, ...] = ()
                for step in row.steps:
                    _time(home, step.say, row.room, spoken, tally)
                    verdict, why, history = await _effects.judged(home, step, row.room, history)
                    verdicts.append(verdict)
                    tally.add(file.stem, verdict, step.say, why)
                if len(verdicts) > 1:
                    whole: Verdict = "understood" if {*verdicts} == {"understood"} else "wrong"
                    tally.groups[f"{file.stem} whole"][whole] += 1


async def _public(config: Config, checkout: Path, language: str, tally: UnderstandingTally) -> None:
    """Say every sentence of the public tests to a house made of its own fixtures."""
    (_, public), rules = reader_of(language), _rules(config)
    for case in _ohf.cases(checkout, language):
        for sentence in case.sentences:
            with tempfile.TemporaryDirectory(prefix="atlas-bench-", dir=_memory()) as folder:
                async with household(Path(folder), case.house, language, rules, _effects.AT) as home:
                    await _ohf.prepare(home, case)
                    _time(home, sentence, case.room, language, tally)
                    reading = next(iter(public.grammar.readings(sentence, home.names(), case.room)), None)
                    if reading is None:
                        tally.unknown.append(sentence)
                    outcome = await home.say(sentence, case.room)
                    verdict, why = _ohf.judged(case, sentence, reading, outcome)
                    tally.add(case.intent, verdict, sentence, why)


def _rules(config: Config) -> str:
    return config.tools.policy.read_text(encoding="utf-8")


def _time(home: BenchHousehold, text: str, room: str, language: str, tally: UnderstandingTally) -> None:
    """Measure the CPU time of understanding a sentence, in all threads, with nothing remembered of it."""
    reader, _ = reader_of(language)
    turn = Turn("bench", f"{text} ", Actor("", "bench", "owner", room), _effects.AT)
    began = time.process_time()
    reader.understand(turn, home.names())
    tally.milliseconds.append((time.process_time() - began) * 1000)


def _memory() -> str | None:
    """Return a folder in memory, where syncing costs nothing; `None` where there is none."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
