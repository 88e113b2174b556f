"""QR codes of links: an image for a page, half blocks for a terminal."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import segno

QUIET_MODULES = 4  # of light around the code, which readers look for
BLACK_ON_WHITE, PLAIN = "\x1b[30;107m", "\x1b[0m"  # else a light terminal would show its negative
HALVES = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def image(link: str) -> str:
    """Return a picture of a link, as the address of an SVG that holds itself."""
    return str(_code(link).svg_data_uri(border=QUIET_MODULES, dark="#000", light="#fff", scale=6))


def blocks(link: str) -> str:
    """Return lines that show a link on a terminal, two rows of modules to the line."""
    rows = [[bool(module) for module in row] for row in _code(link).matrix_iter(border=2)]
    empty = [False] * len(rows[0])
    lines = [
        "".join(HALVES[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip_longest(rows[::2], rows[1::2], fillvalue=empty)
    ]
    return "\n".join(f"{BLACK_ON_WHITE}{line}{PLAIN}" for line in lines)


def _code(link: str) -> segno.QRCode:
    import segno  # here, for few starts of Atlas show one, and it takes 30 ms

    return segno.make_qr(link, error="m")
