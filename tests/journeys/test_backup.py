"""A running house is backed up, shown to be, killed, and given back on another disk with all that it knew."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say
from tests.journeys.conftest import Running, running_house, start, stop
from tests.processes import free_port

pytestmark = pytest.mark.real
PASSPHRASE = "four words on a card"


@pytest.fixture
def disk() -> Path:
    return Path(tempfile.mkdtemp(prefix="atlas-backups-"))


def restore(house: Running, data: Path, *arguments: str) -> None:
    """Run `atlas backup restore` into another data directory."""
    there = Running(house.process, data, house.port, house.log)
    done = there.atlas("backup", "restore", *arguments)
    assert done.returncode == 0, done.stderr


def test_a_house_is_given_back_as_it_was_while_it_ran(disk: Path) -> None:
    secret = disk / "passphrase"
    secret.write_text(PASSPHRASE)
    with running_house() as house:
        with opened(house, path="house/health", locale="de-DE") as page:
            expect(page.get_by_text("Noch nie wurde eine Sicherung gemacht.")).to_be_visible(timeout=ANSWER_MS)
            page.goto(f"{house.url}/#/talk")
            connected(page)
            say(page, "add marzipan to my shopping list")
            assert "marzipan" in answer(page).lower()
        made = house.atlas("backup", "create", str(disk), "--passphrase-file", str(secret))
        assert made.returncode == 0, made.stderr
        [file] = disk.glob("*.tar")
        with opened(house, path="house/health") as page:
            backup = page.locator("section[aria-labelledby=backup]")
            expect(backup).to_contain_text(re.compile(r"Made .*, and read back\."), timeout=ANSWER_MS)
            expect(backup).to_contain_text("keys and passwords sealed")
        refused = house.atlas("backup", "restore", str(file), "--replace", "--passphrase-file", str(secret))
        assert "running already" in refused.stderr
        token = house.token
        other = Path(tempfile.mkdtemp(prefix="atlas-"))
        restore(house, other, str(file), "--passphrase-file", str(secret))
    again = start(other, free_port())
    try:
        with opened(again, token=token, path="lists") as page:  # the old token, for its hash came along
            expect(page.get_by_text("marzipan")).to_be_visible(timeout=ANSWER_MS)
            page.goto(f"{again.url}/#/past")
            expect(page.locator(".exchange", has_text="marzipan")).to_have_count(1, timeout=ANSWER_MS)
        verdict = again.json_of("doctor")
        records = [one for one in verdict["findings"] if "record" in one["what"]]
        assert records
        assert all(one["well"] for one in records), records
    finally:
        stop(again)
        shutil.rmtree(other, ignore_errors=True)
        shutil.rmtree(disk, ignore_errors=True)
