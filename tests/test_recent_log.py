"""The latest lines of the log are at hand, in order, and can neither grow without end nor tell what is secret."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from atlas.recent_log import LINE_CHARACTERS, MOST_BYTES, MOST_CHARACTERS, MOST_LINES, RecentLog

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


def started(file: Path) -> logging.Logger:
    """A house that has written a line before it knew where its folder is."""
    logger, handler = logging.Logger("of a start", logging.INFO), RecentLog()
    logger.addHandler(handler)
    logger.info("it begins")
    handler.keep(file)
    return logger


def texts(logger: logging.Logger) -> list[str]:
    return [line.text for line in recent(logger).after(0)]


def test_a_start_shows_what_the_ones_before_have_written(data: Path) -> None:
    file = data / "house.jsonl"
    first = started(file)
    first.warning("tools | it starts again\nof itself", extra={"part": "tools"})
    second = started(file)
    second.info("and on")
    lines = recent(second).after(0)
    assert [line.text for line in lines] == ["it begins", "it starts again\nof itself", "it begins", "and on"]
    assert [line.number for line in lines] == [1, 2, 3, 4]
    assert (lines[1].part, lines[1].level) == ("tools", "warning")
    assert texts(started(file)) == [*texts(second), "it begins"]


def test_what_is_no_line_is_left_out(data: Path) -> None:
    file = data / "house.jsonl"
    started(file).info("whole")
    cut = b'{"at": 1, "part": "house", "lev'
    file.write_bytes(file.read_bytes() + b'{}\n[]\n{"at": "x"}\n\xff\n' + cut + b"\n")
    assert texts(started(file)) == ["it begins", "whole", "it begins"]


def test_the_files_of_a_log_stay_small_and_no_start_has_too_many_lines(data: Path) -> None:
    file = data / "house.jsonl"
    for _ in range(3):
        logger = started(file)
        for number in range(2_000):
            logger.info("line %d %s", number, "x" * 300)
        assert sum(path.stat().st_size for path in data.iterdir()) < 2 * MOST_BYTES + 2 * LINE_CHARACTERS
    again = texts(started(file))
    assert len(again) <= MOST_LINES
    assert again[-2].startswith("line 1999")


def test_a_disk_that_refuses_leaves_the_log_as_it_is_without_a_file(data: Path) -> None:
    logger = started(data / "no such folder" / "house.jsonl")
    logger.info("still here")
    assert texts(logger) == ["it begins", "still here"]
