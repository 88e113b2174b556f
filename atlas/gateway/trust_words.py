"""Reads the words of the guide at /ca/, in the app's languages, from trust_words.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml


class SystemSteps(NamedTuple):
    """What to do on one system; `agent` is how its browsers name it, "" where none does."""

    title: str
    agent: str
    file: str  # what is fetched first
    steps: Sequence[str]


class GuideWords(NamedTuple):
    """The guide in one language."""

    title: str
    why: str
    certificate: str
    profile: str
    your_device: str
    other_devices: str
    then: str
    open_app: str
    compare: str
    compare_how: str
    another: str
    another_how: str
    code_of: str  # {address}
    systems: Sequence[SystemSteps]


CERTIFICATE, PROFILE = "/ca/atlas-ca.crt", "/ca/atlas.mobileconfig"


def _read() -> Mapping[str, GuideWords]:
    guides = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {
        language: GuideWords(**words | {"systems": tuple(SystemSteps(**one) for one in words["systems"])})
        for language, words in guides.items()
    }


GUIDES = _read()
