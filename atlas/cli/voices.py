"""`atlas voices`: whose voice is known in rooms: record one from sound files, list them, delete one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import anyio

from atlas.cli.keys import prepare_folders
from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import RequestError
from atlas.speaker_identification import FEWEST_SENTENCES, SENTENCE_SECONDS, voice_of
from atlas.speech.voiceprints import open_voice_encoder
from atlas.speech.wav import read_sound
from atlas.store.voiceprints import open_voiceprints


def main(arguments: Sequence[str]) -> int:
    """Add, list or forget; works whether Atlas runs or not, and takes effect at once."""
    parser = argparse.ArgumentParser(prog="atlas voices", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    add = verbs.add_parser("add", help="make a voiceprint of somebody's sentences; no sound is stored")
    add.add_argument("person", help="as their devices are paired, such as Anna")
    add.add_argument("files", nargs="+", type=Path, help=f"{FEWEST_SENTENCES} or more, each a sentence of 2 or 3 s")
    verbs.add_parser("list", help="print whose voices are known")
    forget = verbs.add_parser("forget", help="delete a voice, down to its bytes on the disk")
    forget.add_argument("person")
    given = parser.parse_args(arguments)
    config = load_config(os.environ)
    prepare_folders(config)
    return anyio.run(_work, config, given)


async def _work(config: Config, given: argparse.Namespace) -> int:
    async with open_voiceprints(config.data) as store:
        match given.verb:
            case "add":
                if len(given.files) < FEWEST_SENTENCES:
                    raise RequestError(
                        f"{len(given.files)} sentences are too few",
                        code="invalid_value",
                        hint=f"give {FEWEST_SENTENCES}",
                    )
                encoder = open_voice_encoder(config.models.folder)
                sounds = [read_sound(file.read_bytes(), SENTENCE_SECONDS) for file in given.files]
                profile = await store.put(given.person, await voice_of(encoder, sounds), len(sounds))
                print(f"{profile.person} is known by voice, of {profile.sentences} sentences")
                if not config.voices.enabled:
                    print("nobody listens for it yet: set enabled = true in [voices] of atlas.toml, and start again")
            case "forget":
                if not await store.forget(given.person):
                    raise RequestError(
                        f"nobody knows a voice of {given.person}",
                        code="not_found",
                        hint="`atlas voices list` names them",
                    )
                print(f"the voice of {given.person} is gone")
            case _:
                for one in await store.list():
                    day = datetime.fromtimestamp(one.recorded).astimezone().strftime("%Y-%m-%d %H:%M")
                    print(f"{one.person:24}  {one.sentences} sentences  {day}")
    return 0
