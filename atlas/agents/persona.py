"""Who an agent is: a prompt with its limits, read from prompts/. What is not a limit is said to the model.

NAME.md is for any model, NAME.tools.md for one that is trusted with tools: of a long prompt a very small model
remembers little and repeats much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from atlas.errors import ConfigError

PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class Persona:
    """A prompt. Its text never changes while Atlas runs, so that models keep it computed."""

    name: str
    when: str  # when to use this agent, in words for people
    text: str
    spoken_tokens: int  # the longest answer that is heard
    written_tokens: int  # the longest answer that is read


def open_persona(name: str, *, trusted: bool = False) -> Persona:
    """Return the persona called `name` as the model shall know it; an agent without a file speaks as `family`.

    Raises `ConfigError` for a file that is not front matter and text.
    """
    file_name = name if name.isidentifier() and (PROMPTS / f"{name}.md").is_file() else "family"
    path = PROMPTS / f"{file_name}.tools.md"
    if not (trusted and path.is_file()):
        path = PROMPTS / f"{file_name}.md"
    try:
        limits, text = _read(path)
        return Persona(name, limits["when"], text, int(limits["spoken_tokens"]), int(limits["written_tokens"]))
    except (ValueError, KeyError, TypeError, yaml.YAMLError) as trouble:
        raise ConfigError(
            f"{path} is no persona: {trouble}",
            hint="begin it with --- lines around name, when, spoken_tokens and written_tokens",
        ) from trouble


@cache
def _read(path: Path) -> tuple[Mapping[str, Any], str]:
    """Return the front matter of a file and its text."""
    _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(front), text.strip()
