"""A log says where something went wrong and of what kind it was, and never what somebody has said."""

from __future__ import annotations

import logging
import sys

from atlas.errors import EngineError
from wall.logs import Wordless, failures_in, kind

SECRET = "the code is 4711"


def looked_up() -> None:
    try:
        {}[SECRET]
    except KeyError as missing:
        raise ExceptionGroup(
            "two at once", [ValueError(SECRET), PermissionError(13, "Permission denied", SECRET)]
        ) from missing


def test_a_failure_is_told_by_its_place_and_kinds() -> None:
    try:
        looked_up()
    except ExceptionGroup:
        record = logging.LogRecord("atlas", logging.ERROR, "here", 1, "%s failed", ("a call",), sys.exc_info())
    line = Wordless("%(message)s").format(record)
    assert line.startswith("a call failed\n") and SECRET not in line
    for wanted in ("test_logs.py", "in looked_up", "KeyError", "ExceptionGroup", "ValueError", "Permission denied"):
        assert wanted in line


def test_what_is_worded_for_the_log_is_in_it() -> None:
    assert kind(EngineError("the disk is full")) == "the disk is full"
    assert kind(KeyError(SECRET)) == "KeyError"


def test_failures_come_out_of_groups_within_groups() -> None:
    first, second, third = ValueError("a"), OSError("b"), KeyError("c")
    group = BaseExceptionGroup("", [ExceptionGroup("", [first, ExceptionGroup("", [second])]), third])
    assert list(failures_in(group)) == [first, second, third]
