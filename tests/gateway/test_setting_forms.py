"""Forms of settings refuse what cannot be, show what was edited by hand, and lose no line of two who save at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest

from atlas.config import BackupConfig, Config, load
from atlas.shipped import shipped
from atlas.store.settings_file import HouseSettings
from tests.gateway.api_house import api_house
from wall.unsound_rules import UnsoundRules

FORMS = "/api/setting-forms"
JSON = {"content-type": "application/json"}


def settings_of(data: Path, text: str = "[house]\n") -> HouseSettings:
    """A house's settings in a file of their own, with parts that take their time to start again."""

    def read(file: Path) -> Config:
        return load({"ATLAS_DATA": str(data)}, file)

    async def restart(_config: Config) -> Sequence[str]:
        await anyio.lowlevel.checkpoint()
        return ()

    async def prove(_config: Config, text: str) -> UnsoundRules | None:
        await anyio.lowlevel.checkpoint()
        never = UnsoundRules("The rule 'never' can never fire.", "never", ("role:unlock-9",))
        return never if 'id = "never"' in text else None

    for ears in ("whisper-tiny.en", "whisper-base"):
        (data / "models" / ears).mkdir(parents=True, exist_ok=True)
    file = data / "atlas.toml"
    file.write_text(text)
    return HouseSettings(read(file), read, restart, prove)


@pytest.mark.parametrize(
    "url", ["http://hub:99999/", "http://[hub/", "http://hub:x/", "hub:8123", "ftp://hub", "http://"]
)
async def test_an_address_that_none_is_is_refused_and_the_forms_still_open(
    config: Config, data: Path, url: str
) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        refused = await owner.put(f"{FORMS}/home_assistant", json={"values": {"url": url}, "reach": True})
        error = refused.json()["error"]
        assert (refused.status_code, error["code"], error["field"]) == (400, "not_address", "url")
        assert (data / "atlas.toml").read_text() == "[house]\n"
        assert (await owner.get(FORMS)).status_code == 200


@pytest.mark.parametrize("port", ["NaN", "1e400", "-1", "0", "65536", "1883.5"])
async def test_a_port_that_none_is_is_refused_before_anything_is_written(config: Config, data: Path, port: str) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        body = f'{{"values": {{"host": "hub", "port": {port}}}, "reach": true}}'
        refused = await owner.put(f"{FORMS}/mqtt", content=body, headers=JSON)
        assert 400 <= refused.status_code < 500
        assert (data / "atlas.toml").read_text() == "[house]\n"
        assert (await owner.get(FORMS)).status_code == 200


async def test_a_place_beyond_all_numbers_is_refused(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        body = '{"values": {"latitude": 1e400}}'
        assert 400 <= (await owner.put(f"{FORMS}/weather", content=body, headers=JSON)).status_code < 500
        assert (data / "atlas.toml").read_text() == "[house]\n"


EDITED_BY_HAND = """
[tools.home.home_assistant]
url = "http://hub:99999/"
[tools.home.mqtt]
host = "hub"
port = inf
[tools.weather]
latitude = nan
address = { no = "address" }
[[tools.email.accounts]]
name = true
imap = { host = "mail.example", port = "many" }
[[tools.calendar.servers]]
url = ["http://[cal/", 7]
"""


async def test_a_file_that_somebody_edited_into_nonsense_still_opens_and_can_be_mended(
    config: Config, data: Path
) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data, EDITED_BY_HAND)
        reply = await owner.get(FORMS)
        assert reply.status_code == 200
        forms = {one["form"]: one for one in reply.json()["forms"]}
        assert {name: one["hosts"] for name, one in forms.items() if one["hosts"]} == {}
        mended = await owner.put(f"{FORMS}/mqtt", json={"values": {"port": 8883}, "reach": True})
        assert mended.json()["form"]["hosts"] == ["hub:8883"]
        assert world.house.settings.config.egress.allow == ("hub:8883",)


async def test_two_who_save_at_once_lose_no_line_of_what_may_be_reached(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)

        async def save(form: str, values: dict[str, str]) -> None:
            saved = await owner.put(f"{FORMS}/{form}", json={"values": values, "reach": True})
            assert saved.status_code == 200

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(save, "home_assistant", {"url": "http://hub:8123"})
            tasks.start_soon(save, "weather", {"address": "https://w.example"})
            tasks.start_soon(save, "mqtt", {"host": "broker"})
        assert set(world.house.settings.config.egress.allow) == {"hub:8123", "w.example:443", "broker:8883"}


BAD_VALUES = [
    ("house", "country", "atlantis", "not_choice"),
    ("house", "timezone", "Berlin", "not_zone"),
    ("house", "timezone", "../../etc/passwd", "not_zone"),
    ("house", "contact", "Maria\n0170", "not_text"),
    ("house", "language", "tlh", "not_choice"),
    ("house", "agent", "nobody", "not_choice"),
    ("wake", "house", ["a"], "not_phrase"),
    ("wake", "house", ["--help"], "not_phrase"),
    ("wake", "work", [" -- "], "not_phrase"),
    ("wake", "house", ["okay\u202enabu"], "not_list"),
    ("wake", "house", [], "no_phrase"),
    ("wake", "work", ["okay nabu"], "phrase_twice"),
    ("wake", "house", ["hey atlas", "yes"], "common_phrase"),
    ("wake", "house", ["stop"], "common_phrase"),
    ("wake", "house", ["stop it"], "common_phrase"),
    ("wake", "house", ["okay"], "common_phrase"),
    ("wake", "house", ["hello"], "common_phrase"),
    ("wake", "house", ["guten morgen"], "common_phrase"),
    ("wake", "work", ["bonjour"], "common_phrase"),
    ("wake", "work", ["bob"], "common_phrase"),
    ("room", "room", "../../x", "not_room"),
    ("room", "quiet_hours", "ten to six", "not_hours"),
    ("room", "quiet_hours", "25:00-07:00", "not_hours"),
    ("room", "volume", 5, "not_volume"),
    ("room", "enabled", "yes", "not_switch"),
    ("weather", "latitude", "north", "not_number"),
    ("weather", "latitude", 123, "not_latitude"),
    ("weather", "longitude", -181, "not_longitude"),
    ("egress", "allow", ["good.example:443", "https://google.com"], "not_reachable"),
    ("push", "services", ["push.example"], "not_reachable"),
    ("mqtt", "port", 70000, "not_port"),
    ("mail", "agents", "work", "not_list"),
    ("mail", "agents", ["work", "nobody"], "not_choice"),
    ("mail", "name", "My Account", "not_name"),
    ("mail", "address", "anna at example", "not_mail"),
    ("egress", "allow", ["good.example:443\u0000"], "not_list"),
    ("push", "services", ["push.example\nbad.example"], "not_list"),
    ("backup", "folder", "disk", "not_folder"),
    ("backup", "folder", "/media/disk/../x", "not_folder"),
    ("backup", "folder", "/media//disk", "not_folder"),
    ("backup", "hour", 24, "not_whole_hour"),
    ("backup", "hour", 3.5, "not_whole_hour"),
    ("backup", "retain", 0, "not_count"),
    ("backup", "passphrase_file", "short", "not_passphrase"),
    ("gpu", "embedded_gpu_layers", -2, "not_layers"),
    ("gpu", "embedded_gpu_layers", 0.5, "not_layers"),
    ("gpu", "embedded_gpu", 64, "not_card"),
]


async def test_what_does_not_fit_is_named_with_its_field_and_nothing_is_written(config: Config, data: Path) -> None:
    misses = []
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        for form, field, value, code in BAD_VALUES:
            refused = await owner.put(f"{FORMS}/{form}", json={"values": {field: value}})
            error = refused.json().get("error", {})
            got = (refused.status_code, error.get("code"), error.get("field"), error.get("sentence", "")[-1:])
            if got != (400, code, field, "."):
                misses.append((form, field, value, got))
        assert misses == []
        assert (data / "atlas.toml").read_text() == "[house]\n"


async def _fields(owner: httpx2.AsyncClient, form: str, number: int = 0) -> dict[str, Any]:
    forms = (await owner.get(FORMS)).json()["forms"]
    [one] = [one for one in forms if (one["form"], one["number"]) == (form, number)]
    return {field["name"]: field for field in one["fields"]}


async def test_the_country_and_whom_to_call_count_at_once_and_say_where_they_come_from(
    config: Config, data: Path
) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        assert (await _fields(owner, "house"))["country"]["origin"] == "default"
        values = {"country": "de", "contact": "Maria, 0170 1234567"}
        saved = await owner.put(f"{FORMS}/house", json={"values": values})
        fields = {one["name"]: one for one in saved.json()["form"]["fields"]}
        assert fields["country"]["origin"].endswith("atlas.toml")
        assert not fields["country"]["waits"]
        assert (world.house.config.house.country, world.house.config.house.contact) == tuple(values.values())


def passphrase_of(backup: BackupConfig) -> str:
    return Path(backup.passphrase_file).read_text()


async def test_a_language_that_nothing_here_hears_is_refused_with_what_to_fetch(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data, '[models]\nfolder = "weights"\n')
        refused = await owner.put(f"{FORMS}/house", json={"values": {"language": "de"}})
        error = refused.json()["error"]
        assert (refused.status_code, error["code"], error["field"]) == (400, "no_ears", "language")
        assert "atlas models pull whisper-base" in error["hint"]
        (data / "weights" / "whisper-base").mkdir(parents=True)
        assert (await owner.put(f"{FORMS}/house", json={"values": {"language": "de"}})).status_code == 200


@pytest.mark.parametrize("language", ["de", "en,de"])
async def test_the_settings_as_they_are_shipped_take_another_language_when_its_ears_are_here(
    config: Config, data: Path, language: str
) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data, shipped("atlas.toml").read_text())
        values = {"language": language, "country": "de", "contact": "Maria, 0170 1234567"}
        saved = await owner.put(f"{FORMS}/house", json={"values": values})
        assert saved.status_code == 200, saved.text
        assert world.house.settings.config.speech.stt_model == "whisper-base"


async def test_ears_that_hear_english_alone_do_not_do_for_german(config: Config, data: Path) -> None:
    text = '[models]\nfolder = "weights"\n[speech]\nstt_model = "whisper-tiny.en"\n'
    (data / "weights" / "whisper-tiny.en").mkdir(parents=True)
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data, text)
        refused = await owner.put(f"{FORMS}/house", json={"values": {"language": "en,de"}})
        assert "take stt_model out" in refused.json()["error"]["hint"]


async def test_a_house_of_languages_that_no_form_offers_saves_its_own_back(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data, '[house]\nlanguages = ["en", "fr"]\n[models]\nfolder = "none"\n')
        field = (await _fields(owner, "house"))["language"]
        assert field["value"] == "en,fr"
        assert "en,fr" in field["choices"]
        saved = await owner.put(f"{FORMS}/house", json={"values": {"language": "en,fr", "country": "gb"}})
        assert saved.status_code == 200
        assert world.house.settings.config.house.spoken == ("en", "fr")


async def test_every_field_that_says_that_it_counts_at_once_does_and_no_other(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        forms = (await owner.get(FORMS)).json()["forms"]
        at_once = {f"{form['form']}.{field['name']}" for form in forms for field in form["fields"] if field["at_once"]}
        assert {one for one in at_once if one.partition(".")[0] in ("house", "wake", "room")} == {
            *("house.country", "house.contact", "wake.near_misses", "room.quiet_hours", "room.volume")
        }
        world.house.settings = settings_of(data)
        await owner.put(f"{FORMS}/room", json={"values": {"room": "hall", "volume": 2}})
        assert (world.house.config.satellite.room, world.house.config.satellite.volume) == (config.satellite.room, 2)


async def test_a_daily_backup_is_wanted_at_once_and_its_passphrase_is_shown_to_nobody(
    config: Config, data: Path, tmp_path: Path
) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        assert not (await _fields(owner, "backup"))["passphrase_file"]["filled"], "nobody chose one yet"
        values = {"folder": str(tmp_path), "hour": 4, "passphrase_file": "four words on a card"}
        saved = await owner.put(f"{FORMS}/backup", json={"values": values})
        assert saved.status_code == 200
        wanted = world.house.config.backup
        assert (wanted.folder, wanted.hour, wanted.retain) == (str(tmp_path), 4, 7)
        assert passphrase_of(wanted) == "four words on a card"
        assert (await _fields(owner, "backup"))["passphrase_file"]["filled"]
        assert "four words" not in (await owner.get(FORMS)).text + (data / "atlas.toml").read_text()


async def test_a_folder_for_backups_has_to_be_there_writable_and_apart_from_the_house(
    config: Config, data: Path
) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        (data / "a file").touch()
        for folder, code in (
            ("/media/none", "no_folder"),
            (str(data / "a file"), "no_folder"),
            (str(data.parent), "house_inside"),
            (str(data), "house_inside"),
            (str(data / "models"), "house_inside"),
        ):
            refused = await owner.put(f"{FORMS}/backup", json={"values": {"folder": folder}})
            error = refused.json()["error"]
            assert (refused.status_code, error["code"], error["field"]) == (400, code, "folder")
        assert world.house.config.backup.folder == ""
        assert (await owner.put(f"{FORMS}/backup", json={"values": {"folder": "", "hour": 5}})).status_code == 200


async def test_language_and_wake_words_wait_for_the_next_start_and_say_so(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        await owner.put(f"{FORMS}/house", json={"values": {"language": "de"}})
        await owner.put(f"{FORMS}/wake", json={"values": {"work": ["hey jarvis"]}})
        language, words = (await _fields(owner, "house"))["language"], await _fields(owner, "wake")
        assert (language["value"], language["at_once"], language["waits"]) == ("de", False, True)
        assert (words["work"]["value"], words["work"]["waits"]) == (["hey jarvis"], True)
        assert (words["house"]["value"], words["house"]["waits"]) == (["okay_nabu"], False)
        assert world.house.config.house.language == "en"
        text = (data / "atlas.toml").read_text()
        assert 'wake_words = ["hey jarvis"]' in text
        assert "[agents.work]" in text


async def test_a_model_is_given_a_card_of_its_own_at_the_next_start(config: Config, data: Path) -> None:
    text = (
        '[llm.embedded]\n# the small one\ngpu_layers = 4\n[llm.big]\nkind = "server"\nurl = "http://127.0.0.1:1/v1"\n'
    )
    async with api_house(config, data) as world, world.http("owner") as owner:
        settings = world.house.settings = settings_of(data, text)
        fields = await _fields(owner, "gpu")
        assert {name: field["value"] for name, field in fields.items()} == {
            "embedded_gpu_layers": 4,
            "embedded_gpu": -1,
        }
        assert fields["embedded_gpu_layers"]["origin"].endswith("atlas.toml")
        assert fields["embedded_gpu"]["origin"] == "default"
        values = {"embedded_gpu_layers": -1, "embedded_gpu": 1}
        assert (await owner.put(f"{FORMS}/gpu", json={"values": values})).status_code == 200
        llm = settings.config.llm["embedded"]
        assert (llm.gpu_layers, llm.gpu, llm.answers) == (-1, 1, False)
        assert world.house.config.llm["embedded"].gpu == -1
        assert all(field["waits"] and not field["at_once"] for field in (await _fields(owner, "gpu")).values())
        assert "# the small one" in (data / "atlas.toml").read_text()
        await owner.put(f"{FORMS}/gpu", json={"values": {"embedded_gpu": None}})
        assert settings.config.llm["embedded"].gpu == -1


async def test_a_model_that_was_chosen_since_the_start_has_its_fields_too(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data, '[llm.embedded]\n[llm.new]\nkind = "embedded"\ngpu_layers = 9\n')
        field = (await _fields(owner, "gpu"))["new_gpu_layers"]
        assert (field["value"], field["waits"]) == (9, True)


async def test_a_house_gets_a_second_language_and_loses_it_again(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        settings = world.house.settings = settings_of(data, '[house]\nlanguages = ["de", "en"]\n')
        assert (await _fields(owner, "house"))["language"]["value"] == "de,en"
        assert (await _fields(owner, "house"))["language"]["origin"].endswith("atlas.toml")
        for wanted, spoken in (("en", ("en",)), ("en,de", ("en", "de")), ("de", ("de",))):
            saved = await owner.put(f"{FORMS}/house", json={"values": {"language": wanted}})
            assert saved.status_code == 200
            assert settings.config.house.spoken == spoken
            assert (await _fields(owner, "house"))["language"]["value"] == wanted


async def test_what_the_environment_says_cannot_be_changed_in_a_form(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        settings = settings_of(data)
        settings.config = load({"ATLAS_DATA": str(data), "ATLAS_HOUSE_COUNTRY": "gb"}, data / "atlas.toml")
        world.house.settings = settings
        assert (await _fields(owner, "house"))["country"]["origin"] == "ATLAS_HOUSE_COUNTRY"
        refused = await owner.put(f"{FORMS}/house", json={"values": {"country": "de"}})
        assert refused.json()["error"]["code"] == "by_environment"


MAIL = {
    "name": "post",
    "address": "a@b.example",
    "user": "a",
    "password_file": "hunter2",
    "imap_host": "imap.b.example",
}


def _secrets(accounts: Sequence[dict[str, str]]) -> list[str]:
    return [Path(one["password_file"]).read_text() for one in accounts]


async def test_a_second_account_is_added_changed_and_removed_with_its_secret(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        settings = world.house.settings = settings_of(data)
        added = [
            await owner.put(f"{FORMS}/mail?number={number}", json={"values": MAIL | {"name": name}})
            for number, name in ((0, "home"), (-1, "club"), (-1, "post"))
        ]
        assert [reply.json()["form"]["number"] for reply in added] == [0, 1, 2]
        await owner.put(
            f"{FORMS}/mail?number=1", json={"values": {"address": "club@b.example", "password_file": "new"}}
        )
        accounts = settings.config.tool_settings["email"]["accounts"]
        assert [one["name"] for one in accounts] == ["home", "club", "post"]
        assert [one["agents"] for one in accounts] == [["work"]] * 3
        assert accounts[0]["imap"] == {"host": "imap.b.example", "port": 993}
        assert _secrets(accounts) == ["hunter2", "new", "hunter2"]
        assert (await owner.delete(f"{FORMS}/mail?number=0")).status_code == 204
        left = settings.config.tool_settings["email"]["accounts"]
        assert [one["name"] for one in left] == ["club", "post"]
        assert {str(file) for file in (data / "secrets" / "settings").iterdir()} == {
            one["password_file"] for one in left
        }
        await owner.put(f"{FORMS}/mail?number=-1", json={"values": MAIL | {"name": "last", "password_file": "third"}})
        assert _secrets(left) == ["new", "hunter2"]


async def test_two_accounts_that_are_added_at_once_have_each_their_own_secret(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        settings = world.house.settings = settings_of(data)
        replies: list[int] = []

        async def add(name: str) -> None:
            values = MAIL | {"name": name, "password_file": f"secret of {name}"}
            replies.append((await owner.put(f"{FORMS}/mail?number=-1", json={"values": values})).status_code)

        async with anyio.create_task_group() as tasks:
            for name in ("anna", "bob", "bob"):
                tasks.start_soon(add, name)
        assert sorted(replies) == [200, 200, 400]
        accounts = settings.config.tool_settings["email"]["accounts"]
        assert dict(zip((one["name"] for one in accounts), _secrets(accounts), strict=True)) == {
            "anna": "secret of anna",
            "bob": "secret of bob",
        }


async def test_who_saw_other_entries_changes_and_removes_none(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        settings = world.house.settings = settings_of(data)
        for name in ("anna", "bob", "carl"):
            values = MAIL | {"name": name, "password_file": name}
            assert (await owner.put(f"{FORMS}/mail?number=-1", json={"values": values})).status_code == 200
        replies: list[int] = []

        async def remove() -> None:
            replies.append((await owner.delete(f"{FORMS}/mail?number=0&count=3")).status_code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(remove)
            tasks.start_soon(remove)
        assert sorted(replies) == [204, 400]
        late = await owner.put(f"{FORMS}/mail?number=1&count=3", json={"values": {"password_file": "new"}})
        assert late.json()["error"]["code"] == "moved"
        assert _secrets(settings.config.tool_settings["email"]["accounts"]) == ["bob", "carl"]


async def test_an_account_that_lacks_something_or_has_anothers_name_is_refused(config: Config, data: Path) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)

        async def refusal(number: int, values: dict[str, str]) -> tuple[str, str]:
            error = (await owner.put(f"{FORMS}/mail?number={number}", json={"values": values})).json()["error"]
            return error["code"], error["field"]

        assert await refusal(0, {"name": "home"}) == ("missing", "address")
        assert (await owner.put(f"{FORMS}/mail", json={"values": MAIL})).status_code == 200
        assert await refusal(-1, MAIL) == ("name_twice", "name")
        assert await refusal(0, {"password_file": ""}) == ("missing", "password_file")
        agents = await owner.put(f"{FORMS}/mail", json={"values": {"agents": []}})
        assert agents.json()["error"]["code"] == "missing"
        assert (await owner.put(f"{FORMS}/mail", json={"values": {"name": "post"}})).status_code == 200


@pytest.mark.parametrize(("form", "number"), [("mail", -1), ("mail", 3), ("calendar", -1), ("weather", 1)])
async def test_an_entry_that_is_not_there_is_not_tried(config: Config, data: Path, form: str, number: int) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data, '[[tools.email.accounts]]\nname = "home"\n')
        refused = await owner.post(f"{FORMS}/{form}/test?number={number}", json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "not_there")


async def test_an_entry_is_triable_where_the_tool_tries_it_and_no_other(config: Config, data: Path) -> None:
    kinds = ("email.accounts", "email.accounts", "calendar.servers")
    text = "".join(f'[[tools.{kind}]]\nname = "n{number}"\n' for number, kind in enumerate(kinds))
    async with api_house(config, data) as world, world.http("owner") as owner:

        async def triable() -> list[tuple[str, bool]]:
            forms = (await owner.get(FORMS)).json()["forms"]
            return [(one["form"], one["triable"]) for one in forms if one["form"] in ("mail", "calendar", "egress")]

        world.house.settings = settings_of(data, text)
        assert await triable() == [("mail", True), ("mail", True), ("calendar", True), ("egress", False)]
        world.house.settings = settings_of(data, text + '[[tools.calendar.servers]]\nname = "n3"\n')
        assert (await triable())[2:4] == [("calendar", False), ("calendar", False)]
        tried = await owner.post(f"{FORMS}/calendar/test?number=1", json={})
        assert tried.json() == {"ok": True, "sentence": ""}


@pytest.mark.parametrize(("form", "number"), [("mail", 3), ("weather", 1), ("weather", -1), ("calendar", 0)])
async def test_an_entry_that_is_not_there_is_neither_changed_nor_removed(
    config: Config, data: Path, form: str, number: int
) -> None:
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        assert (await owner.delete(f"{FORMS}/{form}?number={number}")).status_code == 400
        if number:
            changed = await owner.put(f"{FORMS}/{form}?number={number}", json={"values": {}})
            assert changed.json()["error"]["code"] == "not_there"
        assert (data / "atlas.toml").read_text() == "[house]\n"
