"""The one house that tests build by hand, and the grammar that they share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from atlas.agents.choosing import Choosing
from atlas.assent import AnswerWords, HouseConfirmations, HouseKey, open_wording
from atlas.bell import Speakers
from atlas.config import Config
from atlas.house import House, Mind
from atlas.mcp.tools_scripted import ScriptedTools
from atlas.router import choose
from atlas.understanding.grammar import Grammar, open_grammar


def house_of(
    config: Config, minds: Mapping[str, Mind], assents: HouseConfirmations | None = None, **parts: Any
) -> House:
    """A house with these minds; what a test does not bring, nothing in it may need."""
    nothing: Any = None
    usual: dict[str, Any] = {
        **dict.fromkeys(("stt", "tts", "vad", "wake", "authenticate", "health"), nothing),
        "choose": lambda turn: choose(turn, config.agents, config.house.agent),
        "settle_seconds": lambda text: None,
        "wants_silence": lambda text: False,
        "speakers": Speakers(),
    }
    return House(config, minds=minds, assents=assents or assents_of(ScriptedTools([])), **(usual | parts))


def assents_of(tools: ScriptedTools, **given: Any) -> HouseConfirmations:
    """Whose yes is sealed by a key that was made just now; everybody may talk to everybody."""
    seal = HouseKey(Ed25519PrivateKey.generate())
    return HouseConfirmations(seal, wording(), tools, **({"may_talk": lambda actor, agent: True} | given))


@cache
def wording() -> AnswerWords:
    """How yes and no are said, read once."""
    return open_wording("en")


@cache
def english() -> Grammar:
    """The grammar, opened once for all tests of a process: it takes over a second, and nothing changes it."""
    return open_grammar("en")


@cache
def choosing() -> Choosing:
    """The choice of tools by English words."""
    return Choosing(english().tables, english().plain_words)
