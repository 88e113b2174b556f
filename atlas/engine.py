"""Open an engine by its name: role `stt`, name `faster_whisper` → `atlas/speech/stt_faster_whisper.py`.

A name with dots is that of a module anywhere, such as an engine of the tests.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from atlas.errors import ConfigError

PACKAGE_OF_ROLE = {
    "backend": "atlas.llm",
    "stt": "atlas.speech",
    "tts": "atlas.speech",
    "vad": "atlas.speech",
    "wake": "atlas.speech",
}


async def open_engine(role: str, name: str, settings: Any) -> Any:
    """Return the opened engine; the caller closes it with `aclose()`.

    Every engine file has `async def open(settings) -> Role`, and takes its settings as a frozen value.
    Raises `ConfigError` for a name without a module, and whatever `open` raises (`EngineError` for missing weights).
    """
    module_name = name if "." in name else f"{PACKAGE_OF_ROLE[role]}.{role}_{name}"
    if not all(map(str.isidentifier, name.split("."))) or not _is_there(module_name):
        raise ConfigError(
            f"no {role} engine called {name!r}",
            hint=f"name one that has {PACKAGE_OF_ROLE[role].replace('.', '/')}/{role}_NAME.py, or a whole module",
        )
    return await import_module(module_name).open(settings)


def _is_there(module_name: str) -> bool:
    try:
        return find_spec(module_name) is not None
    except ModuleNotFoundError:  # nor its package
        return False
