from __future__ import annotations

import dataclasses
import datetime
import hashlib
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from atlas.cli.keys import (
    introduce_agents,
    make_house_key,
    owners_token,
    point_at_rules,
    prepare_folders,
    read_secret,
    satellite_token,
    settle_tools,
    write_tool_settings,
)
from atlas.config import AgentConfig, Config, McpConfig, ToolsConfig
from atlas.confirmations import read_house_key
from atlas.errors import ConfigError
from atlas.store.devices import open_devices
from tools_server.boot.opening import read_agents


def test_nobody_else_can_read_what_atlas_keeps(config: Config) -> None:
    prepare_folders(config)
    introduce_agents(config)
    make_house_key(config)
    for path in (config.data, config.run, config.secrets, *config.secrets.iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_folder_that_was_open_to_others_is_closed(config: Config) -> None:
    config.data.chmod(0o755)
    prepare_folders(config)
    assert config.data.stat().st_mode & 0o077 == 0


def test_every_agent_is_known_by_its_own_token_and_has_its_own_tools(config: Config) -> None:
    prepare_folders(config)
    agents = tomllib.loads(introduce_agents(config).read_text())
    assert set(agents) == {"family", "work", "house"}
    assert agents["house"]["tools"] == [
        "*.due",
        "*.announced",
        "reminders.heard",
        "asks.*",
        "record.*",
        "rules.*",
        "settings.*",
        "ledger.days",
        "upstream.approve",
        "upstream.offered",
        "upstream.withdraw",
        "home.connected",
        "home.satellites",
        "home.say",
    ]
    assert agents["house"]["acts_as"] == "owner"
    assert agents["family"]["roots"] == ["family-agent-config"]
    assert agents["work"]["roots"] == ["work-agent-config"]
    assert agents["work"]["roles"] == ["owner"]
    assert (agents["family"]["private"], agents["work"]["private"]) == (False, True)
    hashes = {agent["token_sha256"] for agent in agents.values()}
    assert len(hashes) == 3
    token = read_secret(config.tools_token("work"))
    assert agents["work"]["token_sha256"] == hashlib.sha256(token.encode()).hexdigest()


def test_a_program_over_mcp_has_its_agents_tools_and_asks_for_whom_the_settings_say(config: Config) -> None:
    programs = {"ide": McpConfig("work", "owner"), "panel": McpConfig("family", "adult"), "script": McpConfig()}
    config = dataclasses.replace(config, mcp=programs)
    prepare_folders(config)
    file = introduce_agents(config)
    by_token, by_name = read_agents(file)
    ide = by_token[hashlib.sha256(read_secret(config.tools_token("ide")).encode()).hexdigest()]
    assert (ide.name, ide.acts_as, ide.roles, ide.roots, ide.private) == (
        *("ide", "owner", ("owner",), ("work-agent-config",), True),
    )
    assert ide.tools == by_name["work"].tools
    assert (by_name["panel"].acts_as, by_name["panel"].roles) == ("adult", ("adult",))
    assert by_name["script"].acts_as == "guest"
    assert by_name["family"].acts_as == "", "who holds an agent's own token says for whom it asks, each time"


def test_parts_of_the_house_that_start_at_once_agree_on_its_secrets(config: Config) -> None:
    for attempt in range(20):
        fresh = dataclasses.replace(config, data=config.data / str(attempt))
        prepare_folders(fresh)
        start = threading.Barrier(4)

        def part(_: int, fresh: Config = fresh, start: threading.Barrier = start) -> tuple[str, str]:
            start.wait()
            return introduce_agents(fresh).read_text(), make_house_key(fresh).read_text()

        with ThreadPoolExecutor(4) as parts:
            assert len(set(parts.map(part, range(4)))) == 1, "each knows the others by what is there in the end"


def test_tokens_stay_the_same_and_new_powers_are_written(config: Config) -> None:
    prepare_folders(config)
    introduce_agents(config)
    before = read_secret(config.tools_token("family"))
    changed = dataclasses.replace(config, agents={**config.agents, "family": AgentConfig(tools=("clock.*",))})
    agents = tomllib.loads(introduce_agents(changed).read_text())
    assert read_secret(config.tools_token("family")) == before
    assert agents["family"]["tools"] == ["clock.*"]


def test_no_agent_may_call_itself_the_house(config: Config) -> None:
    prepare_folders(config)
    with pytest.raises(ConfigError, match="house"):
        introduce_agents(dataclasses.replace(config, agents={"house": AgentConfig()}))


async def test_the_owners_token_is_made_once_and_works(config: Config) -> None:
    prepare_folders(config)
    async with open_devices(config.data) as devices:
        token, new = await owners_token(config, devices)
        assert new
        actor = await devices.find(token)
        assert actor
        assert actor.role == "owner"
        assert await owners_token(config, devices) == (token, False)


async def test_when_the_file_of_the_owners_token_is_lost_the_old_token_stops_working(config: Config) -> None:
    prepare_folders(config)
    async with open_devices(config.data) as devices:
        lost, _ = await owners_token(config, devices)
        config.owner_token.unlink()
        token, new = await owners_token(config, devices)
        assert new
        assert await devices.find(lost) is None
        assert await devices.find(token)


async def test_the_room_of_this_machine_stays_the_same_device_under_another_name(config: Config) -> None:
    prepare_folders(config)
    here = replace(config, satellite=replace(config.satellite, room="Hall"))
    async with open_devices(config.data) as devices:
        await satellite_token(config, devices)
        token = read_secret(config.satellite_token)
        await devices.change("this machine", new_name="Hall speaker")
        theirs = await devices.create("this machine", "adult", room="Attic")
        await satellite_token(here, devices)
        assert read_secret(config.satellite_token) == token
        assert [(one.name, one.room) for one in await devices.list()] == [
            ("Hall speaker", "Hall"),
            ("this machine", "Attic"),
        ]
        await devices.revoke("Hall speaker")
        await devices.revoke("this machine")
        assert await devices.find(theirs) is None
        await satellite_token(here, devices)
        assert (await devices.find(read_secret(config.satellite_token))).device == "this machine"


def test_the_house_signs_with_a_key_that_is_made_once_and_shows_its_public_half_alone(config: Config) -> None:
    prepare_folders(config)
    public = make_house_key(config)
    private = read_house_key(config.house_key)
    assert make_house_key(config) == public
    assert read_house_key(config.house_key).private_bytes_raw() == private.private_bytes_raw()
    assert load_pem_public_key(public.read_bytes()) == private.public_key()
    assert b"PRIVATE" not in public.read_bytes()
    for file in (public, config.house_key):
        assert file.stat().st_mode & 0o077 == 0


def test_a_key_that_is_damaged_stops_the_start_and_is_not_replaced(config: Config) -> None:
    prepare_folders(config)
    config.house_key.write_text("half a key")
    with pytest.raises(ConfigError, match="cannot be read"):
        make_house_key(config)
    assert config.house_key.read_text() == "half a key"


def test_a_missing_secret_says_what_makes_it(config: Config) -> None:
    with pytest.raises(ConfigError, match=r"owner\.token cannot be read") as missing:
        read_secret(config.owner_token)
    assert "atlas run" in missing.value.hint


def test_a_damaged_secret_is_named_with_what_to_do(config: Config) -> None:
    prepare_folders(config)
    config.owner_token.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"owner\.token is damaged") as damaged:
        read_secret(config.owner_token)
    assert "move it away" in damaged.value.hint


def test_the_settings_of_the_tools_arrive_as_they_were_written(config: Config) -> None:
    prepare_folders(config)
    details = {
        "home": {"url": "http://nas:8123", "rooms": ["küche", 'the "den"\n', "\x7f"], "port": 8123, "level": 0.5},
        "calendar": {"accounts": [{"name": "Ännä 🏠", "on": True, "since": datetime.date(2026, 1, 2)}], "far": {}},
        "a.b": {"odd key": float("inf")},
    }
    file = write_tool_settings(dataclasses.replace(config, tool_settings=details))
    assert tomllib.loads(file.read_text()) == details
    assert file.stat().st_mode & 0o077 == 0


def test_what_an_older_atlas_kept_for_the_tools_moves_to_their_own_folder_once(config: Config) -> None:
    prepare_folders(config)
    for name in ("tools.db", "tools.db-wal", "audit.jsonl"):
        (config.data / name).write_text(name)
    settle_tools(config)
    assert sorted(file.name for file in config.tools_data.iterdir()) == ["audit.jsonl", "tools.db", "tools.db-wal"]
    (config.data / "tools.db").write_text("another")
    settle_tools(config)
    assert (config.tools_data / "tools.db").read_text() == "tools.db"


def test_whoever_asks_for_the_rules_at_a_terminal_finds_those_that_hold_now(config: Config) -> None:
    prepare_folders(config)
    for name in ("first.toml", "second.toml"):
        rules = config.data / name
        rules.write_text(name)
        point_at_rules(dataclasses.replace(config, tools=ToolsConfig(policy=rules)))
        assert (config.secrets / "policy.toml").read_text() == name
