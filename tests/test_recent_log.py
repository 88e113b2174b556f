"""The latest lines of the log are at hand, in order, and can neither grow without end nor tell what is secret."""

from __future__ import annotations

import logging

import pytest

from atlas.recent_log import LINE_CHARACTERS, MOST_CHARACTERS, MOST_LINES, RecentLog

SECRET = "the code is 4711"


@pytest.fixture
def log() -> logging.Logger:
    logger = logging.Logger("of this test", logging.INFO)
    logger.addHandler(RecentLog())
    return logger


def recent(logger: logging.Logger) -> RecentLog:
    [handler] = logger.handlers
    assert isinstance(handler, RecentLog)
    return handler


def test_lines_come_in_order_with_their_part_and_how_bad_they_are(log: logging.Logger) -> None:
    log.info("turn ended device=%s", "kitchen")
    log.warning("tools | it starts again", extra={"part": "tools"})
    log.error("it broke")
    lines = recent(log).after(0)
    assert [(line.number, line.part, line.level, line.text) for line in lines] == [
        (1, "house", "info", "turn ended device=kitchen"),
        (2, "tools", "warning", "it starts again"),
        (3, "house", "error", "it broke"),
    ]
    assert [line.number for line in recent(log).after(2)] == [3]
    assert recent(log).after(3) == []


def test_the_oldest_lines_make_room_and_no_line_is_endless(log: logging.Logger) -> None:
    for number in range(MOST_LINES + 5):
        log.info("line %d", number)
    lines = recent(log).after(0)
    assert len(lines) == MOST_LINES
    assert lines[-1].text == f"line {MOST_LINES + 4}"
    for _ in range(200):
        log.info("%s", "a" * 50_000 + "KeyError")
    long = recent(log).after(0)
    assert sum(len(line.text) for line in long) <= MOST_CHARACTERS
    assert len(long[-1].text) <= LINE_CHARACTERS + 3
    assert long[-1].text.endswith("KeyError")
    for _ in range(MOST_LINES):
        log.info("short again")
    assert len(recent(log).after(0)) == MOST_LINES


def test_no_token_and_nothing_that_a_failure_quotes_is_in_them(log: logging.Logger) -> None:
    try:
        {}[SECRET]
    except KeyError:
        log.exception("a call failed")
    log.warning("with atlas_abcdefghijklmnopqrstuvwxyz012345 and Bearer s3cr3t")
    failure, line = recent(log).after(0)
    assert "KeyError" in failure.text
    assert "test_recent_log.py" in failure.text
    assert SECRET not in failure.text
    assert line.text == "with … and Bearer …"
