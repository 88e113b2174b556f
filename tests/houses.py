"""The one house that tests build by hand, and the grammar that they share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from atlas.agents.tool_selection import ToolSelection
from atlas.bell import Speakers
from atlas.config import Config
from atlas.confirmations import AnswerWords, HouseConfirmations, HouseKey, open_wording
from atlas.house import House, Mind
from atlas.router import choose
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.understanding import Reader
from tests.scripted_tools import ScriptedTools


def house_of(
    config: Config, minds: Mapping[str, Mind], confirmations: HouseConfirmations | None = None, **parts: Any
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
    return House(config, minds=minds, confirmations=confirmations or assents_of(ScriptedTools([])), **(usual | parts))


def assents_of(tools: ScriptedTools, **given: Any) -> HouseConfirmations:
    """Whose yes is sealed by a key that was made just now; everybody may talk to everybody."""
    seal = HouseKey(Ed25519PrivateKey.generate())
    return HouseConfirmations(seal, wording(), tools, **({"may_talk": lambda actor, agent: True} | given))


@cache
def wording() -> AnswerWords:
    """How yes and no are said, read once."""
    return open_wording("en")


def english() -> Grammar:
    """The grammar of the language that most tests speak."""
    return open_grammar("en")


@cache
def reader_of(grammar: Grammar) -> Reader:
    """Who reads a language by this grammar alone, made once for all tests of a process: it takes 60 ms."""
    return Reader(grammar)


def reader(language: str) -> Reader:
    """The same, by the name of the language."""
    return reader_of(open_grammar(language))


@cache
def choosing() -> ToolSelection:
    """The choice of tools by English words."""
    return ToolSelection(english().tables, english().plain_words)
