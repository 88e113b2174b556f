"""How well people are told apart by voice: who is taken for another, for nobody, and which stranger for somebody.

    atlas bench voices --recordings DIR [--noise FILE --snr 10] [--sentences 5] [--half 0|1]

A folder of DIR for each speaker, of the sound files of that speaker. They are cut into sentences of 2.5 s; of houses
of four, six and eight people drawn from them, each records some sentences, and says others, and so do four strangers.
A half is every other speaker, so that limits which are chosen on one half are judged on the other. `--alike` makes
houses of those whose voices are closest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from atlas.audio import HEARING_RATE
from atlas.config import Config
from atlas.errors import ConfigError
from atlas.speech.voiceprints import VoiceEncoder, Voiceprint, match, mean, open_voice_encoder
from atlas_bench import _corpus

TARGETS = {"wrong_percent": 5.0, "unknown_percent": 20.0}
SENTENCE_SAMPLES = round(2.5 * HEARING_RATE)
HOUSES = 150  # of each size
SIZES = (4, 6, 8)
STRANGERS = 4
MOST_SENTENCES = 12  # of one speaker
SOUND_FILES = (".wav", ".flac")


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this benchmark can be told."""
    parser.add_argument("--recordings", type=Path, required=True, help="a folder with a folder for each speaker")
    parser.add_argument("--noise", type=Path, help="a recording that is mixed into what is said, not into profiles")
    parser.add_argument("--snr", type=float, default=10.0, help="by so many dB below the speech")
    parser.add_argument("--sentences", type=int, default=5, help="that each person records")
    parser.add_argument("--half", type=int, choices=(0, 1), help="of the speakers: every other one")
    parser.add_argument("--alike", action="store_true", help="houses of the closest voices")


@dataclass(slots=True)
class _Speaker:
    clean: list[Voiceprint] = field(default_factory=list)  # one for each sentence
    noisy: list[Voiceprint] = field(default_factory=list)  # the same sentences; clean ones without noise


async def measure(config: Config, given: argparse.Namespace | None = None) -> dict[str, float]:
    """Return shares in percent, and what a voiceprint takes. Raises `ConfigError` without recordings of people."""
    if given is None:
        raise ConfigError("nobody's recordings were given", hint="name their folder: --recordings DIR")
    encoder = open_voice_encoder(config.models.folder)
    noise = _corpus.samples_of(given.noise) if given.noise else None
    folders = sorted(folder for folder in given.recordings.iterdir() if folder.is_dir())
    began, speakers = time.process_time(), {}
    for folder in folders if given.half is None else folders[given.half :: 2]:
        speaker = await _read(encoder, folder, noise, given.snr)
        if len(speaker.clean) > given.sentences:
            speakers[folder.name] = speaker
    seconds = time.process_time() - began
    if len(speakers) < max(SIZES) + STRANGERS:
        raise ConfigError(f"{given.recordings} has {len(speakers)} speakers with enough sentences", hint="give more")
    made = sum(len(one.clean) + (len(one.noisy) if noise is not None else 0) for one in speakers.values())
    random = np.random.default_rng(0)
    houses = [_house(speakers, size, random, alike=given.alike) for size in SIZES for _ in range(HOUSES)]
    counted = [_counted(speakers, *house, given.sentences, random) for house in houses]
    sentences, wrong, unknown, strangers, taken = np.sum(counted, axis=0)
    return {
        "speakers": float(len(speakers)),
        "sentences": float(sentences),
        "wrong_percent": 100 * wrong / sentences,
        "unknown_percent": 100 * unknown / sentences,
        "strangers_taken_percent": 100 * taken / strangers,
        "cpu_ms_of_a_voiceprint": 1000 * seconds / made,
    }


async def _read(encoder: VoiceEncoder, folder: Path, noise: _corpus.Samples | None, snr: float) -> _Speaker:
    speaker = _Speaker()
    for name, samples in _sentences(folder):
        clean = await encoder.encode(_corpus.mixed(samples, None, snr, name))
        noisy = clean if noise is None else await encoder.encode(_corpus.mixed(samples, noise, snr, name))
        if clean is not None and noisy is not None:
            speaker.clean.append(clean)
            speaker.noisy.append(noisy)
        if len(speaker.clean) == MOST_SENTENCES:
            break
    return speaker


def _sentences(folder: Path) -> Iterable[tuple[str, _corpus.Samples]]:
    """Yield stretches of 2.5 s, one of each file before a second of any."""
    sounds = [_corpus.samples_of(file) for file in sorted(folder.iterdir()) if file.suffix in SOUND_FILES]
    for number in range(MOST_SENTENCES):
        start = number * SENTENCE_SAMPLES + HEARING_RATE // 4
        for file, samples in enumerate(sounds):
            if start + SENTENCE_SAMPLES <= len(samples):
                yield f"{folder.name} {file} {number}", samples[start : start + SENTENCE_SAMPLES]


def _house(
    speakers: Mapping[str, _Speaker], size: int, random: np.random.Generator, *, alike: bool
) -> tuple[Sequence[str], Sequence[str]]:
    """Return who lives in a house, and who visits."""
    names = list(random.permutation(sorted(speakers)))
    if alike:
        of_first = mean(speakers[names[0]].clean)
        names.sort(key=lambda name: -float(of_first @ mean(speakers[name].clean)))
    return names[:size], names[size : size + STRANGERS]


def _counted(
    speakers: Mapping[str, _Speaker],
    members: Sequence[str],
    strangers: Sequence[str],
    sentences: int,
    random: np.random.Generator,
) -> tuple[int, int, int, int, int]:
    """Return how much was said, taken for another's, and for nobody's; strangers, and those taken for somebody."""
    known, sentences_spoken = {}, []
    for name in members:
        order = random.permutation(len(speakers[name].clean))
        known[name] = mean([speakers[name].clean[at] for at in order[:sentences]])
        sentences_spoken += [(name, speakers[name].noisy[at]) for at in order[sentences:]]
    taken = [(name, match(one, known).person) for name, one in sentences_spoken]
    visits = [match(speakers[name].noisy[0], known).person for name in strangers]
    wrong = sum(person not in ("", name) for name, person in taken)
    return len(taken), wrong, sum(not person for _, person in taken), len(visits), sum(map(bool, visits))
