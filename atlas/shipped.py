"""The files that come with Atlas and are no code: in a checkout beside the package, in a wheel inside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_INSIDE = _PACKAGE / "shipped"  # where pyproject.toml puts them in a wheel
INSTALLED = _INSIDE.is_dir()


def shipped(name: str) -> Path:
    """Return the path of one of them: "policy.toml", "pwa"."""
    return (_INSIDE if INSTALLED else _PACKAGE.parent) / name
