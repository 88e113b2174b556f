"""`atlas conversations` searches, exports and forgets in a house that is really there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio.to_thread
import pytest

from atlas.cli import ask, conversations
from atlas.cli.keys import prepare_folders, write_secret
from atlas.config import Config, GatewayConfig
from atlas.errors import AtlasError
from tests.gateway.small_house import SmallHouse, served


@pytest.fixture
async def world(config: Config, data: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SmallHouse]:
    async with served(config, data) as small:
        at = replace(config, gateway=GatewayConfig(https_host="", port=urlsplit(small.url).port or 0))
        monkeypatch.setattr(conversations, "load_config", lambda environment: at)
        prepare_folders(at)
        write_secret(at.owner_token, small.tokens["owner"])
        async with small.http() as http:
            for text in ("hello there", "why is the sky blue"):
                body = {"model": "family", "messages": [{"role": "user", "content": text}]}
                body["atlas"] = {"remember": True, "device": "terminal"}
                assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
        yield small


async def run(*arguments: str | Path) -> int:
    return await anyio.to_thread.run_sync(conversations.main, [str(one) for one in arguments])


async def test_what_was_said_is_found_newest_last(world: SmallHouse, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run("search", "sky") == 0
    texts = [line[16:].strip() for line in capsys.readouterr().out.splitlines()]
    assert texts == ["Atlas:  The sky is blue.", "why is the sky blue", "Atlas:  The sky is blue."]
    assert await run("search", "cheese") == 1
    assert "Nothing was found." in capsys.readouterr().err


async def test_an_export_is_a_new_file_that_only_its_owner_reads(
    world: SmallHouse, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data / "mine.jsonl"
    assert await run("export", "--output", file) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["messages"][0]["text"] for line in lines] == ["hello there", "why is the sky blue"]
    with pytest.raises(AtlasError, match="exists"):
        await run("export", "--output", file)
    assert len(file.read_text().splitlines()) == 2
    assert await run("export", "--markdown") == 0
    assert "- terminal: why is the sky blue" in capsys.readouterr().out


async def test_forgetting_says_how_much_and_what_stays(world: SmallHouse, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run("forget", "--last", "1") == 0
    message = capsys.readouterr().out
    assert message.startswith("Forgotten: 1 exchange.\nNot forgotten: what was done stays done")
    assert await run("forget", "--minutes", "5") == 0
    assert await run("forget", "--everything", "--yes") == 1
    assert capsys.readouterr().out.endswith("Forgotten: 0 exchanges.\n")


async def test_a_terminal_forgets_what_was_said_in_it_and_finds_what_is_the_owners(
    world: SmallHouse, capsys: pytest.CaptureFixture[str]
) -> None:
    async with world.http() as http:  # the owner's browser
        body = {"model": "family", "messages": [{"role": "user", "content": "what do whales eat"}]}
        sent = await http.post("/v1/chat/completions", json=body | {"atlas": {"remember": True}})
        assert sent.status_code == 200
    assert await run("search", "whales") == 0
    assert await run("forget", "--everything", "--yes") == 0
    assert "Forgotten: 2 exchanges." in capsys.readouterr().out
    assert await run("search", "whales") == 0
    assert await run("search", "sky") == 0, "it answered the browser"
    assert "why is the sky blue" not in capsys.readouterr().out


def test_forgetting_nothing_in_particular_says_what_can_be_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        conversations.main(["forget"])
    assert "--everything, --last N, --minutes N, or --since" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [("--minutes", "0"), ("--minutes", "-5"), ("--last", "0"), ("--last", "two")])
def test_what_is_no_number_to_forget_is_named_with_its_option(
    wrong: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        conversations.main(["forget", *wrong])
    assert f"argument {wrong[0]}: it must be a whole number from 1 on, not '{wrong[1]}'" in capsys.readouterr().err


async def test_everything_is_not_forgotten_where_nobody_can_be_asked(
    world: SmallHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: ASYNC230, SIM115
    with pytest.raises(AtlasError, match="no terminal"):
        await run("forget", "--everything")
    assert await run("search", "hello") == 0


async def test_whoever_has_a_token_of_their_own_asks_and_searches_with_it(
    world: SmallHouse, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ask, "load_config", conversations.load_config)
    monkeypatch.setenv("ATLAS_TOKEN", world.tokens["adult"])
    assert await anyio.to_thread.run_sync(ask.main, ["--agent", "family", "why is the sky blue"]) == 0
    assert capsys.readouterr().out == "The sky is blue.\n"
    assert await run("search", "sky") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2, "and nothing that was said at the owner's terminal"


async def test_a_house_that_is_not_there_is_said_so(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_TOKEN", "x")
    monkeypatch.setattr(
        conversations, "load_config", lambda environment: replace(config, gateway=GatewayConfig(https_host="", port=9))
    )
    with pytest.raises(AtlasError, match="does not answer"):
        await run("search", "x")
