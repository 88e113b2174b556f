"""Papers of bullets, such as lists and facts: one thing a line, in Markdown that people may edit meanwhile.

A line "- bread" is a thing, and so is "- [ ] bread"; "- [x] bread" is one that is ticked off. Every other line stays as
it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from tools_server.sdk.toolkit import ToolFailed
from tools_server.sdk.wording import one_line
from tools_server.values.language import text as _
from tools_server.values.paths import PathDenied, Root, Stamp
from tools_server.writing.papers import Unreadable, read_text

_BULLET = re.compile(r"(?P<bullet>[ \t]*[-*+][ \t]+)(?:\[(?P<box>[ xX])\](?:[ \t]+|(?=\r?$)))?(?P<text>[^\r]*)\r?")


@dataclass(frozen=True, slots=True)
class Bullet:
    """One line of such a paper."""

    line: int  # which of the paper's lines
    text: str
    checked: bool


@dataclass(frozen=True, slots=True)
class BulletPaper:
    """One paper, as read. `stamp` is None while it has no file."""

    file: str  # its path in the root
    text: str
    stamp: Stamp | None

    @property
    def bullets(self) -> list[Bullet]:
        """What is on it, from the top down."""
        results = ((number, _BULLET.fullmatch(line)) for number, line in enumerate(self.text.split("\n")))
        return [
            Bullet(number, one_line(match["text"]), (match["box"] or "").lower() == "x")
            for number, match in results
            if match and one_line(match["text"])
        ]

    def with_line(self, line: str, heading: str) -> Self:
        """Return the paper with one more thing, below the last one; a new paper gets its heading."""
        text = self.text or f"# {heading}\n\n"
        ending = "\r\n" if "\r\n" in text else "\n"
        lines = (text if text.endswith("\n") else text + ending).split("\n")
        bullets = self.bullets
        lines.insert(bullets[-1].line + 1 if bullets else len(lines) - 1, f"- {line}{ending[:-1]}")
        return replace(self, text="\n".join(lines))

    def with_bullet(self, bullet: Bullet, sentence: str, *, checked: bool) -> Self:
        """Return the paper with one line written anew. Its bullet stays as it is, and so do its words when they may."""
        lines = self.text.split("\n")
        old = _BULLET.fullmatch(lines[bullet.line])
        assert old
        words = old["text"] if sentence == bullet.text else sentence
        ending = "\r" if lines[bullet.line].endswith("\r") else ""
        lines[bullet.line] = f"{old['bullet']}[{'x' if checked else ' '}] {words}{ending}"
        return replace(self, text="\n".join(lines))

    def without(self, gone: Sequence[Bullet]) -> Self:
        """Return the paper without some of its lines."""
        out = {bullet.line for bullet in gone}
        lines = (line for number, line in enumerate(self.text.split("\n")) if number not in out)
        return replace(self, text="\n".join(lines))


def text_of(root: Root, file: str) -> tuple[str, Stamp | None]:
    """Return the text of a paper, and which version it is; "" and None while it has no file. Raises `ToolFailed`."""
    try:
        return read_text(root, file)
    except PathDenied as denied:
        if denied.reason != "missing":
            raise
        return "", None
    except Unreadable as wrong:
        raise ToolFailed("failed", _("I could not read {file}: {wrong}.").format(file=file, wrong=wrong)) from None
