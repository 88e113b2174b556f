"""A QR code is read by a reader of another hand, off the pixels that a terminal shows."""

from __future__ import annotations

import numpy
import zxingcpp

from atlas.access.qr import BLACK_ON_WHITE, HALVES, PLAIN, blocks

LINK = "https://192.168.178.21:8643/pair#tEJ1kQv0_k3Zc-8pQmXw2g"
MODULE_PIXELS = 4


def test_a_terminal_shows_a_link_that_a_phone_reads():
    halves = {block: pair for pair, block in HALVES.items()}
    rows: list[list[bool]] = []
    for line in blocks(LINK).splitlines():
        assert line.startswith(BLACK_ON_WHITE)  # on a light terminal as on a dark one
        assert line.endswith(PLAIN)
        pairs = [halves[block] for block in line.removeprefix(BLACK_ON_WHITE).removesuffix(PLAIN)]
        rows += [[upper for upper, _ in pairs], [lower for _, lower in pairs]]
    assert len(blocks(LINK).splitlines()) <= 24
    dark = numpy.array(rows).repeat(MODULE_PIXELS, axis=0).repeat(MODULE_PIXELS, axis=1)
    [read] = zxingcpp.read_barcodes(numpy.where(dark, 0, 255).astype(numpy.uint8))
    assert read.text == LINK
