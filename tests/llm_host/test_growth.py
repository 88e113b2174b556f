"""A host that is asked for too much, again and again, takes no more memory for it than for the first time."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from llm_process import Host, running

pytestmark = pytest.mark.real

AT_ONCE, TIMES = 5, 3
MOST_GROWN_MIB = 80  # it was 172 while refusals were kept until Python looked for circles, and is 3


def taken_mib(host: Host) -> int:
    status = Path(f"/proc/{host.process.pid}/status").read_text()
    match = re.search(r"RssAnon:\s+(\d+) kB", status)
    assert match
    return int(match[1]) // 1024


def test_prompts_that_are_far_too_long_leave_no_memory_behind_when_many_come_at_once(data: Path, models: Path) -> None:
    def too_long(number: int) -> int:
        prompt = [{"role": "user", "content": f"{number} " * (800_000 // len(f"{number} "))}]
        return host.chat(prompt).status_code

    with running(data, models) as host, ThreadPoolExecutor(AT_ONCE) as people:
        assert host.chat(max_tokens=2).status_code == 200
        assert too_long(0) == 400
        before = taken_mib(host)
        assert set(people.map(too_long, range(1, 1 + AT_ONCE * TIMES))) == {400}
        assert taken_mib(host) - before < MOST_GROWN_MIB
        assert host.chat(max_tokens=2).status_code == 200
