"""How well people are heard: recordings in noise → words → commands, by the recogniser that the doors use.

    atlas bench hearing --corpus DIR [--noise FILE --snr 6,9,12]     a folder of recordings, labels and a grammar
    atlas bench hearing --recordings DIR --house H.json [--language de [--beside en]]   sound files named after what is
        said in them; --beside: in a house where another language is spoken, too
    atlas bench hearing [--snr 20,10,0] [--count 300] [--half 1]     speech that this machine makes itself

A command is understood when its intent and all its slots are as labelled, no more and no less; asked when the house
asks whether that was meant; left when nothing was understood; wrong otherwise. The folder is read as
Picovoice/speech-to-intent-benchmark is published, and its noise is mixed by that benchmark's rule. `--stock` also hears
the same sound with faster-whisper as it comes, whose words are read by the same grammar.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import hassil
import numpy as np
from hassil.intents import Intents

from atlas.agents.house_names import read_names
from atlas.audio import AudioChunk
from atlas.config import OTHER_EARS, Config, SpeechConfig
from atlas.conversation import HOUSE, Turn, Utterance
from atlas.engine import open_engine
from atlas.errors import ConfigError
from atlas.hearing.automaton import graph_of
from atlas.hearing.ear import Ear, Sense, by_slots
from atlas.hearing.house_ear import ESPEAK_VOICES, HouseBook, Senses
from atlas.hearing.nearest import Book
from atlas.hearing.search import Nets, Search
from atlas.hearing.several_languages import EarOfLanguages
from atlas.hearing.sounds import Sounds
from atlas.models.ears import ears_for
from atlas.speech.stt import Hearing, Stt
from atlas.understanding.english_ways import numbers
from atlas.understanding.grammar import open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import Names
from atlas.understanding.parser import open_parser
from atlas.understanding.public import open_public
from atlas.understanding.readings import pick
from atlas.understanding.sayable import said_by
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Reader
from atlas_bench import _corpus, _effects, _sayings, _voices
from atlas_bench._household import learned

Verdict = Literal["understood", "asked", "left", "wrong"]
VERDICTS: tuple[Verdict, ...] = ("understood", "asked", "left", "wrong")
HEAD = f"{'':24}{'all':>5}" + "".join(f"{verdict:>13}" for verdict in VERDICTS) + f"{'median':>11}"
TARGETS = {"wrong_percent": 3.0}
VOICE = "en-us"
SOUND_FILES = (".wav", ".flac")
LESS_LIKELY = 2.8
NEAR = 0.27  # other talk stays 0.33 and more from a book of orders; see docs/log.md
_DIGITS = dict(numbers(0, 99))
_SPOKEN = re.compile(rf"\b({'|'.join(sorted(_DIGITS, key=len, reverse=True))})\b")
Meaning = tuple[str, Mapping[str, str]]


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this benchmark can be told."""
    parser.add_argument("--corpus", type=Path, help="a folder of recordings, with labels and a grammar")
    parser.add_argument("--recordings", type=Path, help="a folder of sound files, each named after what is said in it")
    parser.add_argument("--house", type=Path, help="the house of --recordings: devices, rooms, lists")
    parser.add_argument("--language", default="en", help="which is spoken in --recordings")
    parser.add_argument("--beside", default="", help="another language of that house")
    parser.add_argument("--noise", type=Path, help="a recording that is mixed in")
    parser.add_argument("--snr", default="", help="ratios in dB, such as 6,12,24; without any, the recordings alone")
    parser.add_argument("--names", default="", help="only recordings whose names match, such as [0-3]")
    parser.add_argument(
        "--count", type=int, default=300, help="of own commands; and two thirds as many other sentences"
    )
    parser.add_argument("--half", type=int, choices=(0, 1), help="only every second of own sentences: 0 is tuned on")
    parser.add_argument("--first-pass", action="store_true", help="without the better recogniser of the second pass")
    parser.add_argument("--stock", action="store_true", help="beside faster-whisper as it comes")


@dataclass
class HearingTally:
    """What came of one set of sounds."""

    counts: Counter[Verdict] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def add(self, meaning: object, wanted: object, requests: Sequence[object] = ()) -> Verdict:
        """Count one sound; `None` means nothing. A question about nothing that was said leaves it."""
        verdict: Verdict = "understood" if meaning == wanted else "left" if meaning is None else "wrong"
        if requests and verdict != "understood":
            verdict = "asked" if wanted in requests else "left" if wanted else "wrong"
        self.counts[verdict] += 1
        return verdict

    def percent(self, verdict: Verdict) -> float:
        """Return the share of a verdict."""
        return 100 * self.counts[verdict] / max(1, self.counts.total())

    def line(self, name: str) -> str:
        """Return the counts as they are printed."""
        total = self.counts.total()
        shares = "".join(f"{self.counts[one]:6} {self.counts[one] / total:6.1%}" for one in VERDICTS)
        return f"{name:24}{total:5}{shares}{statistics.median(self.seconds or [0.0]):9.3f} s"


async def measure(config: Config, given: argparse.Namespace | None = None) -> dict[str, float]:
    """Return the shares of commands that were understood, in percent, and the median time of hearing one."""
    if given is not None and given.corpus:
        return await _corpus_heard(config, given)
    if given is not None and given.recordings:
        return await _recordings_heard(config, given)
    return await _own_heard(config, given)


async def _corpus_heard(config: Config, given: argparse.Namespace) -> dict[str, float]:
    clips = _corpus.clips(given.corpus, given.names)
    noise = _corpus.samples_of(given.noise) if given.noise else None
    ratios = [float(one) for one in given.snr.split(",") if one] if noise is not None else []
    read = reader_of(_corpus.grammar_of(given.corpus))
    ear = await _ear(_speech(config, given), _corpus.grammar_of(given.corpus), read)
    stock = _Stock(config) if given.stock else None
    figures: dict[str, float] = {"clips": len(clips)}
    wrong = 0
    print(HEAD)
    for ratio in ratios or (None,):
        name = "clean" if ratio is None else f"{ratio:g} dB"
        ours, theirs = HearingTally(), HearingTally()
        for clip in clips:
            sound = _corpus.mixed(clip.samples, noise if ratio is not None else None, ratio or 0.0, clip.name)
            wanted = clip.intent, clip.slots
            began = time.monotonic()
            heard = await ear.transcribe(sound)
            ours.seconds.append(time.monotonic() - began)
            readings = (heard.text, *heard.alternatives)
            verdict = ours.add(next(filter(None, map(read, readings)), None), wanted)
            if verdict != "understood":
                print(f"  {name}: {verdict}: {clip.name}: {heard.text!r} for {dict(clip.slots)}", file=sys.stderr)
            if stock:
                began = time.monotonic()
                theirs.add(read(stock.text(sound)), wanted)
                theirs.seconds.append(time.monotonic() - began)
        print(ours.line(name), flush=True)
        if stock:
            print(theirs.line(f"{name}, stock words"), flush=True)
            figures[f"{name} stock %"] = 100 * theirs.counts["understood"] / theirs.counts.total()
        figures[f"{name} understood %"] = 100 * ours.counts["understood"] / ours.counts.total()
        figures[f"{name} median s"] = statistics.median(ours.seconds)
        wrong += ours.counts["wrong"]
    await ear.aclose()
    figures["wrong_percent"] = 100 * wrong / (len(clips) * max(1, len(ratios)))
    return figures


async def _recordings_heard(config: Config, given: argparse.Namespace) -> dict[str, float]:
    """Hear recordings: what comes of each must be what its name would have done, had it been typed."""
    if given.house is None:
        raise ConfigError("--recordings needs a house", hint="--house H.json")
    described = _effects.read_house(given.house)
    languages = tuple(filter(None, (given.language, given.beside)))
    speech = replace(config.speech, languages=languages)
    if languages != ("en",):
        speech = replace(speech, stt_model=OTHER_EARS)
    stt = await open_engine("stt", speech.stt, ears_for(speech))
    house = _House(stt, read_names(described, described), languages)
    counts: Counter[str] = Counter()  # languages
    tallies = {"commands": HearingTally(), "others": HearingTally()}
    print(HEAD)
    for file in sorted(file for file in given.recordings.iterdir() if file.suffix in SOUND_FILES):
        sound, meaning = _corpus.mixed(_corpus.samples_of(file), None, 0.0, ""), house.meaning(file.stem)
        began = time.monotonic()
        heard, read = await house.heard(sound)
        group = tallies["commands" if meaning else "others"]
        group.seconds.append(time.monotonic() - began)
        done, requests = house.outcome(heard)
        verdict = group.add(done or None, meaning or None, requests)
        counts[heard.language] += 1
        its = f" ({heard.language or 'either'})" if given.beside else ""
        print(f"  {verdict}: {file.stem!r}: {heard.text!r}{its}, read as {read.text!r}", file=sys.stderr)
    for name, tally in tallies.items():
        print(tally.line(name), flush=True)
    if given.beside:
        print(", ".join(f"{count} in {language or 'either'}" for language, count in counts.most_common()))
    await house.aclose()
    return {
        "commands": tallies["commands"].counts.total(),
        "understood %": tallies["commands"].percent("understood"),
        "wrong_percent": tallies["commands"].percent("wrong"),
    }


async def _own_heard(config: Config, given: argparse.Namespace | None) -> dict[str, float]:
    """Hear own speech: what comes of it must be what its words would have done, had they been typed."""
    count = given.count if given else 300
    ratios = [float(one) for one in (given.snr if given and given.snr else "20,10,0").split(",")]
    house = _House(await open_engine("stt", config.speech.stt, _speech(config, given)), _sayings.HOUSE)
    stock = _Stock(config) if given and given.stock else None
    voices = _voices.voices(config)
    noise = _voices.noise(60.0, voices[0][1])
    spoken = [(text, house.meaning(text)) for text in _sayings.commands(count)]
    spoken = [(text, meaning) for text, meaning in spoken if meaning]
    others = [(text, ()) for text in _sayings.talk(count * 2 // 3) if not house.meaning(text)]
    figures: dict[str, float] = {"commands": len(spoken), "others": len(others), "voices": len(voices)}
    print(HEAD)
    total = Counter[Verdict]()
    for ratio in ratios:
        tallies = {name: HearingTally() for name in ("commands", "as read", "others", "stock words")}
        errors: Counter[str] = Counter()
        for number, (text, meaning) in enumerate([*spoken, *others]):
            if given and given.half is not None and number % 2 != given.half:
                continue
            sound = _own_sound(voices[number % len(voices)][1](text), number, noise, ratio)
            began = time.monotonic()
            heard, read = await house.heard(sound)
            group = tallies["commands" if meaning else "others"]
            group.seconds.append(time.monotonic() - began)
            done, requests = house.outcome(heard)
            if (verdict := group.add(done or None, meaning or None, requests)) != "understood":
                print(f"  {ratio:g} dB: {verdict}: {text!r}: {heard.text!r}, read as {read.text!r}", file=sys.stderr)
            if meaning:
                tallies["as read"].add(house.meaning(read.text) or None, meaning)
                errors += _word_errors("ours", text, read.text)
                if stock:
                    words = stock.text(sound)
                    tallies["stock words"].add(house.meaning(words) or None, meaning)
                    errors += _word_errors("stock", text, words)
        for name, tally in tallies.items():
            if tally.counts:
                print(tally.line(f"{ratio:g} dB, {name}"), flush=True)
        for name in ("ours", "stock"):
            if errors[f"{name} words"]:
                figures[f"{ratio:g} dB word errors % {name}"] = 100 * errors[name] / errors[f"{name} words"]
        figures[f"{ratio:g} dB understood %"] = tallies["commands"].percent("understood")
        figures[f"{ratio:g} dB acted, though none %"] = tallies["others"].percent("wrong")
        total += tallies["commands"].counts
    figures["wrong_percent"] = 100 * total["wrong"] / total.total()
    await house.aclose()
    return figures


def _speech(config: Config, given: argparse.Namespace | None) -> SpeechConfig:
    """Return the settings of the ears that a house has here."""
    return config.speech if given and given.first_pass else ears_for(config.speech)


def _own_sound(samples: _corpus.Samples, number: int, noise: _corpus.Samples, ratio: float) -> AudioChunk:
    """Return what one microphone hears: every third in a room, every tenth over a telephone, all of it in noise."""
    if number % 3 == 0:
        samples = _voices.in_a_room(samples, 0.3, 0.1 + 0.05 * (number % 4), number)
    if number % 10 == 0:
        samples = _voices.over_a_telephone(samples)
    return _corpus.mixed(samples, noise, ratio, str(number))


def _word_errors(name: str, sentence: str, heard: str) -> Counter[str]:
    """Return how many words of a sentence were heard wrong, numbers written alike, and how many there are."""
    words, others = (_plain(text).split() for text in (sentence, heard))
    row = list(range(len(others) + 1))
    for place, word in enumerate(words, 1):
        before, row[0] = row[0], place
        for at, other in enumerate(others, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (word != other))
    return Counter({name: row[-1], f"{name} words": len(words)})


def _plain(text: str) -> str:
    whole = re.sub(r"(\d)\.0\b", r"\1", text.lower())  # of arguments: 20 and 20.0
    spelled = re.sub(r"(?<=\d) ?[x×*] ?(?=\d)", " times ", whole.replace("%", " percent"))
    plain = " ".join(re.sub(r"[^\w ]+", " ", spelled).split())
    return _SPOKEN.sub(lambda match: _DIGITS[match[0]], plain)


class _House:
    """A reader of a house that is only names, and its ear, in each of its languages."""

    def __init__(self, stt: Stt, names: Names, languages: Sequence[str] = ("en",)) -> None:
        self._names = names
        self._stt = stt
        self._usual = languages[0]
        self._read: list[Utterance] = []
        self._readers: dict[str, Reader] = {}
        ears = {language: self._ear(language) for language in languages}
        self.ear = EarOfLanguages(stt, ears) if len(ears) > 1 else ears[self._usual]

    def _ear(self, language: str) -> Ear:
        """Return the ear of a language, as a house has it; its reader stands in `_readers` then."""
        grammar, names = open_grammar(language), self._names
        public = PublicReader(open_public(language), grammar.commands)
        self._readers[language] = Reader(grammar, public, open_parser(grammar, learned()))
        literal, senses, sounds = Reader(grammar, public), Senses(language), Sounds(ESPEAK_VOICES[language])
        public.prepare(names)
        ear = Ear(self._stt, sounds, lambda text: senses.of(text, literal.read(text, names), names))
        ear.books = (HouseBook(language, grammar.tables, sounds).of(names),)
        return ear

    async def heard(self, sound: AudioChunk) -> tuple[Utterance, Utterance]:
        """Return what the ear heard, and what the recogniser alone had read."""

        def judge(hearing: Hearing) -> Utterance:
            self._read.append(hearing.believed())
            return self.ear.judge(hearing)

        heard = await self._stt.transcribe(sound, judge)
        read = self._read.pop() if self._read else heard
        return self._picked(heard), self._picked(read)

    def meaning(self, text: str) -> Any:
        """Return the commands of a text in the usual language, numbers written alike."""
        return _alike(self._readers[self._usual].read(text, self._names).commands if text else ())

    def outcome(self, heard: Utterance) -> tuple[Any, Sequence[Any]]:
        """Return the commands that come of an utterance, and those that the house asks about."""
        turn = Turn("", heard.text, HOUSE, 0.0, possible=heard.possible, doubtful=heard.doubtful)
        meant = self._reader_of(heard).understand(turn, self._names)
        choices = meant.choices.choices if meant.choices and (heard.possible or heard.doubtful) else ()
        return _alike(meant.commands), [_alike(choice.commands) for choice in choices]

    def _reader_of(self, heard: Utterance) -> Reader:
        return self._readers.get(heard.language, self._readers[self._usual])

    def _picked(self, heard: Utterance) -> Utterance:
        reader = self._reader_of(heard)
        return pick(lambda text: reader.read(text, self._names), lambda text: text, heard)

    async def aclose(self) -> None:
        """Give back the recogniser."""
        await self._stt.aclose()


def _alike(commands: Sequence[Command]) -> Any:
    return tuple((one.tool, _plain(repr(sorted(one.arguments.items())))) for one in commands)


def reader_of(grammar: Mapping[str, Any]) -> Callable[[str], Meaning | None]:
    """Return what reads a text by a grammar in hassil's form: its intent and slots, or `None`."""
    intents = Intents.from_dict(dict(grammar))

    def read(text: str) -> Meaning | None:
        match = hassil.recognize(text, intents) if text else None
        return (match.intent.name, {one.name: str(one.value) for one in match.entities_list}) if match else None

    return read


async def _ear(speech: SpeechConfig, grammar: Mapping[str, Any], read: Callable[[str], Meaning | None]) -> Ear:
    """Return the recogniser, knowing the sentences of a grammar."""
    stt, sounds = await open_engine("stt", speech.stt, speech), Sounds(VOICE)
    ear = Ear(stt, sounds, lambda text: Sense.COMMAND if read(text) else Sense.NOTHING)
    ways, values = said_by(grammar)
    nets = Nets(graph_of([way for several in ways.values() for way in several]))
    ear.books = (Book(Search(nets, values, sounds), by_slots, NEAR, LESS_LIKELY),)
    return ear


class _Stock:
    """faster-whisper as its own documentation has it, with the same weights."""

    def __init__(self, config: Config) -> None:
        from faster_whisper import WhisperModel

        folder = config.speech.models / config.speech.stt_model
        self._model = WhisperModel(str(folder), "cpu", compute_type="int8", cpu_threads=config.speech.threads)

    def text(self, sound: AudioChunk) -> str:
        """Return its words."""
        samples = np.frombuffer(sound.pcm, "<i2").astype(np.float32) / 32768.0
        segments, _ = self._model.transcribe(samples, language="en", beam_size=5)
        return " ".join(segment.text.strip() for segment in segments)


__all__: Sequence[str] = ("measure", "options", "reader_of")
