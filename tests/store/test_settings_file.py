"""Settings are written as a person would: only what is meant, comments kept, and back again where it cannot work."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from atlas.config import OWN_FILE, Config, load
from atlas.errors import EngineError, RequestError, StoreError
from atlas.store.backup_contents import JOURNAL
from atlas.store.settings_file import HouseSettings, changed, take_back_unproven
from tests.conftest import ROOT
from wall.unsound_rules import UnsoundRules

TEXT = """\
# Our house.
[house]
language = "en"   # for grandma

# What may be reached.
[egress]
allow = []

[tools.weather]
place = "Bristol"
"""


class World:
    """A house with a settings file, whose parts refuse to start when a test says so."""

    def __init__(self, folder: Path, text: str = TEXT) -> None:
        self.file = folder / "atlas.toml"
        self.file.write_text(text)
        self.data = folder
        self.went_by: list[Config] = []
        self.refuses = ""
        self.proven: list[str] = []
        self.settings = HouseSettings(self.load(self.file), self.load, self.restart, self.prove)

    def load(self, file: Path) -> Config:
        return load({"ATLAS_DATA": str(self.data)}, file)

    async def restart(self, config: Config) -> Sequence[str]:
        self.went_by.append(config)
        if self.refuses and self.refuses in str(config.tool_settings):
            raise EngineError("tools could not start")
        return ()

    async def prove(self, _config: Config, text: str) -> UnsoundRules | None:
        self.proven.append(text)
        return UnsoundRules("That can never fire.", "that", ("this",)) if "# unsound" in text else None


async def test_what_is_emptied_leaves_its_comment(tmp_path: Path) -> None:
    world = World(tmp_path, TEXT.replace('place = "Bristol"', 'place = "Bristol"  # where we live'))
    await world.settings.change({("tools", "weather"): {"place": None, "latitude": 51.45}}, {})
    assert world.file.read_text().endswith("[tools.weather]\n# where we live\nlatitude = 51.45\n")
    await world.settings.change({("tools", "weather"): {"place": "Bath"}}, {})
    assert world.settings.config.tool_settings["weather"] == {"place": "Bath", "latitude": 51.45}
    await world.settings.change({("tools", "weather"): {"place": None}}, {})
    assert world.file.read_text().endswith("[tools.weather]\n# where we live\nlatitude = 51.45\n")


async def test_what_is_changed_counts_and_comments_stay(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.settings.change({("tools", "weather"): {"latitude": 51.45}, ("egress",): {"allow": ["a.de:443"]}}, {})
    text = world.file.read_text()
    assert "# Our house." in text
    assert "# for grandma" in text
    assert "# What may be reached." in text
    assert world.settings.config.tool_settings["weather"] == {"place": "Bristol", "latitude": 51.45}
    assert world.went_by[-1].egress.allow == ("a.de:443",)


async def test_what_a_part_does_not_start_with_is_taken_back_whole(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.refuses = "Atlantis"
    with pytest.raises(RequestError, match="all is as it was"):
        await world.settings.change({("tools", "weather"): {"place": "Atlantis"}}, {"weather-key": "new"})
    assert world.file.read_text() == TEXT
    assert world.went_by[-1].tool_settings["weather"] == {"place": "Bristol"}
    assert not world.settings.secret_file("weather-key").exists()


async def test_a_change_of_which_half_cannot_be_written_is_taken_back_whole(tmp_path: Path) -> None:
    world = World(tmp_path)
    unwritable = "x" * 255  # no draft beside it could have a longer name
    with pytest.raises(StoreError, match="cannot be written"):
        await world.settings.change({("egress",): {"allow": ["a.de:443"]}}, {"token": "new", unwritable: "secret"})
    assert world.file.read_text() == TEXT
    assert not world.settings.secret_file("token").exists()
    assert not (world.settings.config.secrets / JOURNAL).exists()


async def test_a_first_change_that_is_taken_back_leaves_no_file_and_the_settings_that_came_with_atlas(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.file.unlink()
    world.settings = HouseSettings(world.load(OWN_FILE), world.load, world.restart, world.prove)
    world.refuses = "Atlantis"
    with pytest.raises(RequestError, match="all is as it was"):
        await world.settings.change({("tools", "weather"): {"place": "Atlantis"}}, {})
    assert not world.file.exists()
    assert world.settings.config.file == OWN_FILE
    assert world.went_by[-1] is world.settings.config


async def test_what_the_house_could_not_start_with_disturbs_no_part_that_runs(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(RequestError, match="all is as it was"):
        await world.settings.change({("house",): {"agent": "nobody"}}, {"weather-key": "new"})
    assert world.went_by == []


async def test_rules_that_are_not_sound_are_refused_before_anything_is_written_or_ended(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(RequestError, match="all is as it was: That can never fire") as refused:
        await world.settings.change_policy(lambda text: text + "# unsound\n")
    assert refused.value.details == {"never": "that", "before": ("this",)}
    assert (world.went_by, (tmp_path / "policy.toml").exists()) == ([], False)


async def test_rules_that_were_just_tried_are_not_proven_again_when_they_are_saved(tmp_path: Path) -> None:
    world = World(tmp_path)
    text = world.settings.read_policy() + "# ours\n"
    await world.settings.prove_policy(text)
    await world.settings.change_policy(lambda text: text + "# ours\n")
    assert (world.proven, world.settings.read_policy()) == ([text], text)


async def test_what_the_house_could_not_start_with_is_never_written(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(RequestError):
        await world.settings.change({("house",): {"agent": "nobody"}}, {})
    assert world.file.read_text() == TEXT
    assert os.listdir(tmp_path) == ["atlas.toml"]


async def test_a_secret_lies_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    world = World(tmp_path)
    file = world.settings.secret_file("mail-password")
    await world.settings.change({}, {"mail-password": "hunter2"})
    assert file.read_text() == "hunter2"
    assert file.stat().st_mode & 0o077 == 0
    assert "hunter2" not in world.file.read_text()


class KilledError(BaseException):
    """A kill -9 in the middle."""


@pytest.mark.parametrize("rules", [False, True], ids=["a setting and its secret", "the rules"])
async def test_a_change_that_no_part_had_proven_when_the_house_was_killed_is_taken_back_at_the_next_start(
    tmp_path: Path, rules: bool
) -> None:
    world = World(tmp_path)
    (tmp_path / "policy.toml").write_text("# ours\n")
    before = {file: file.read_text() for file in (world.file, tmp_path / "policy.toml")}

    async def killed(_config: Config) -> Sequence[str]:
        raise KilledError

    world.settings = HouseSettings(world.load(world.file), world.load, killed, world.prove)
    with pytest.raises(KilledError):
        if rules:
            await world.settings.change_policy(lambda text: text + "# refused\n")
        else:
            await world.settings.change({("tools", "weather"): {"place": "Atlantis"}}, {"weather-key": "new"})
    assert {file: file.read_text() for file in before} != before
    assert take_back_unproven(world.settings.config)
    assert {file: file.read_text() for file in before} == before
    assert not world.settings.secret_file("weather-key").exists()
    assert not take_back_unproven(world.settings.config)


async def test_what_a_house_that_was_killed_wrote_to_try_it_is_gone_at_the_next_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    texts = [".atlas.toml.swp", ".policy.toml.mine", ".other.toml.abcd1234"]  # of people and their editors
    for name in texts:
        (tmp_path / name).touch()

    tried: list[Path] = []

    def killed(draft: Path) -> Config:
        tried.append(Path(shutil.copy(draft, tmp_path / "left")))
        tried.append(draft)
        raise KilledError

    world.settings = HouseSettings(world.load(world.file), killed, world.restart, world.prove)
    with pytest.raises(KilledError):
        await world.settings.change({("tools", "weather"): {"place": "Atlantis"}}, {})
    left, draft = tried
    left.rename(draft)  # which a kill that cannot be caught leaves
    (tmp_path / ".policy.toml.abcd1234").touch()
    take_back_unproven(world.settings.config)
    assert {name for name in os.listdir(tmp_path) if name.startswith(".")} == set(texts)


async def test_what_was_proven_or_edited_since_by_hand_is_not_taken_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.settings.change({("tools", "weather"): {"place": "Bath"}}, {})
    assert not take_back_unproven(world.settings.config)

    async def killed(_config: Config) -> Sequence[str]:
        raise KilledError

    world.settings = HouseSettings(world.load(world.file), world.load, killed, world.prove)
    with pytest.raises(KilledError):
        await world.settings.change({("tools", "weather"): {"place": "Atlantis"}}, {})
    world.file.write_text("# by hand\n")
    assert not take_back_unproven(world.settings.config)
    assert world.file.read_text() == "# by hand\n"


def test_a_journal_that_was_cut_takes_nothing_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    journal = world.settings.config.secrets / JOURNAL
    journal.parent.mkdir()
    journal.write_text('[{"file": ')
    assert not take_back_unproven(world.settings.config)
    assert not journal.exists()
    assert world.file.read_text() == TEXT


@pytest.mark.parametrize("before", ["echo pwned", None])
@pytest.mark.parametrize(
    "name", ["../profile", "data/tools/notes.md", "data/secrets/house.key", "data/secrets/settings/../house.key"]
)
def test_a_journal_that_names_another_file_than_the_settings_leaves_it_alone_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, before: str | None
) -> None:
    data = tmp_path / "h" / "data"  # a socket has a short name
    data.mkdir(parents=True)
    world = World(data)
    file = data.parent / name
    (data / "secrets" / "settings").mkdir(parents=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine")
    journal = data / "secrets" / JOURNAL
    journal.write_text(json.dumps([{"file": str(file), "before": before, "after": "mine"}]))
    assert not take_back_unproven(world.settings.config)
    assert file.read_text() == "mine"
    assert f"{file} is left alone" in caplog.text
    assert not journal.exists()


@pytest.mark.parametrize("linked", ["secrets/settings", "secrets/settings/key", "atlas.toml", "policy.toml"])
def test_a_journal_is_not_followed_through_a_link(tmp_path: Path, linked: str) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    data.mkdir()
    elsewhere.mkdir()
    (elsewhere / "key").write_text(TEXT)
    world = World(data)
    link = data / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(elsewhere if linked == "secrets/settings" else elsewhere / "key")
    file = link / "key" if linked == "secrets/settings" else link
    (data / "secrets").mkdir(exist_ok=True)
    (data / "secrets" / JOURNAL).write_text(json.dumps([{"file": str(file), "before": "no", "after": TEXT}]))
    assert not take_back_unproven(world.settings.config)
    assert link.is_symlink()
    assert (elsewhere / "key").read_text() == TEXT


@pytest.mark.parametrize(
    "rows",
    ["7", "[7]", '[{"file": "x", "before": 0, "after": "x"}]', '[{"file": 7, "before": 7, "after": 7}]', "[" * 100_000],
)
def test_a_journal_of_another_shape_takes_nothing_back(tmp_path: Path, rows: str) -> None:
    world = World(tmp_path)
    journal = world.settings.config.secrets / JOURNAL
    journal.parent.mkdir()
    journal.write_text(rows)
    assert not take_back_unproven(world.settings.config)
    assert not journal.exists()


async def test_only_what_processes_go_by_starts_them_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.settings.change({("satellite",): {"room": "hall"}, ("house",): {"contact": "Maria"}}, {})
    assert world.went_by == []
    await world.settings.change({("house",): {"country": "de"}}, {})  # whose holidays the tool server tells
    assert world.went_by.pop().tool_settings["clock"] == {"country": "de"}
    await world.settings.change({("satellite",): {"quiet_hours": "22:00-07:00"}}, {})
    assert len(world.went_by) == 1


def test_the_first_of_several_tables_is_made_changed_and_emptied() -> None:
    section = ("tools", "email", "accounts", "0")
    once = changed(TEXT, {section: {"name": "home", "imap": {"host": "imap.a.de", "port": 993}}})
    twice = changed(once, {section: {"name": "post", "imap": None}})
    assert "[[tools.email.accounts]]" in twice
    assert 'name = "post"' in twice
    assert "imap" not in twice


def test_the_settings_that_come_with_atlas_keep_every_comment() -> None:
    text = (ROOT / "atlas.toml").read_text()
    new = changed(text, {("tools", "home", "mqtt"): {"host": "broker", "port": 1883}, ("egress",): {"allow": ["b:1"]}})
    comments = [line for line in text.splitlines() if line.strip().startswith("#")]
    assert [line for line in new.splitlines() if line.strip().startswith("#")] == comments
