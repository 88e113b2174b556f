"""Every known way out of a whitelisted folder, tried over MCP on the real server: no content, a reason, and a row."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.types import CallToolResult, ListRootsResult
from mcp.types import Root as ClientRoot

CANARY = "the family silver is under the third stair"
CODE, DATA, ESCAPE = "atlas.house/code", "atlas.house/data", -32001
RACE_SECONDS = 3.0
RACE_READS = 10_000
MARK = "put there by an attack"


@dataclass
class House:
    """What an attacker finds: a folder that is allowed, and around it what is not."""

    data: Path
    root: Path  # family's folder
    outside: Path  # beside it, its name beginning alike, with a secret in it
    client: Client
    port: int
    turns: int = 0

    async def call(self, tool: str, **arguments: Any) -> CallToolResult:
        self.turns += 1  # each in a turn of its own: what a file said shall not have the next attack asked about
        return await self.client.call_tool(tool, arguments, meta={"atlas.house/turn": f"turn_{self.turns}"})

    @property
    def record(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.data / "audit.jsonl").read_text().splitlines()]


def build(data: Path) -> tuple[Path, Path]:
    root, outside = data / "family-agent-config", data / "family-agent-config_evil"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
    (root / "sub/ok.md").write_text("fine")
    (outside / "secret.md").write_text(CANARY)
    (data / "secret.md").write_text(CANARY)
    return root, outside


@asynccontextmanager
async def opened(data: Path, wire: Any, token: str = "family-token", **settings: Any) -> AsyncIterator[House]:
    """The whole server, without the limits on how much, which a table of attacks would spend."""
    policy = data / "policy.toml"
    policy.write_text(wire.policy.read_text().split("# ── how much")[0])
    root, outside = data / "family-agent-config", data / "family-agent-config_evil"
    agents = data / "who.toml"
    if not agents.exists():
        agents.write_text(wire.write_agents(data).read_text())
    more = ("--port", "0", "--policy", str(policy), "--agents", str(agents))
    async with wire.process(data, *more) as (_, ready):
        port = int(ready.split("port=")[1].split()[0])
        async with wire.client(port, token, **settings) as client:
            yield House(data, root, outside, client, port)


def closed_for(data: Path, wire: Any, roots: str) -> None:
    """Give the family agent other folders."""
    details = wire.write_agents(data).read_text()
    (data / "who.toml").write_text(details.replace('roots = ["family-agent-config"]', roots, 1))


# ── the table, by the numbers of the list it was made from ─────────────────────────────────────────

NAMES: dict[str, str] = {
    "1 up": "../family-agent-config_evil/secret.md",
    "2 down and up": "sub/../../family-agent-config_evil/secret.md",
    "3 absolute outside": "{data}/secret.md",
    "4 absolute inside": "{root}/sub/ok.md",
    "5 a sibling that begins alike, absolute": "{root}_evil/secret.md",
    "6 a sibling that begins alike, relative": "../family-agent-config_evil/secret.md",
    "16 doubled slashes": "..//family-agent-config_evil//secret.md",
    "17 dots between": "./.././family-agent-config_evil/secret.md",
    "18 a slash behind a file": "sub/ok.md/",
    "19 the root by a detour": "sub/..",
    "20 a null byte behind": "sub/ok.md\0.png",
    "21 a null byte between": "sub\0/ok.md",
    "22 encoded dots": "%2e%2e/family-agent-config_evil/secret.md",
    "23 twice encoded dots": "%252e%252e/family-agent-config_evil/secret.md",
    "24 backslashes": "..\\family-agent-config_evil\\secret.md",
    "25 mixed slashes": "sub\\..\\..\\family-agent-config_evil/secret.md",
    "26 home": "~/secret.md",
    "27 another's home": "~root/.bashrc",
    "28 a variable": "$HOME/secret.md",
    "28 a variable in braces": "${HOME}/secret.md",
    "29 a file address": "file://{data}/secret.md",
    "30 a share": "\\\\host\\c$\\secret.md",
    "31 a drive": "C:\\secret.md",
    "31 a drive's own folder": "C:secret.md",
    "32 full-width dots": "．．/family-agent-config_evil/secret.md",
    "33 dot leaders": "‥/․․/family-agent-config_evil/secret.md",
    "34 a slash that is none": "..∕family-agent-config_evil∕secret.md",
    "36 a name composed otherwise": "sub/e\u0301.md",
    "37 text direction": "sub/\u202edm.ko",
    "38 zero width": "sub/o\u200bk.md",
    "39 a space in front": " ../family-agent-config_evil/secret.md",
    "40 a dot behind": "sub/ok.md.",
    "40 a space behind": "sub/ok.md ",
    "41 a line end": "sub/ok.md\n",
    "41 a carriage return": "sub/ok\r.md",
    "41 an escape": "sub/\x1b[2Jok.md",
    "42 nothing": "",
    "43 a dot": ".",
    "44 a slash": "/",
    "45 its environment": "/proc/self/environ",
    "45 its memory": "/proc/self/mem",
    "45 how it was started": "/proc/1/cmdline",
    "46 an open file": "/proc/self/fd/0",
    "47 standard input": "/dev/stdin",
    "47 an open file of devices": "/dev/fd/0",
    "50 six thousand parts": "a/" * 400 + "b",
    "51 a name of three hundred": "x" * 300,
    "52 settings of programs": ".env",
    "52 a repository": "sub/.git/config",
    "52 keys": ".ssh/id_ed25519",
    "53 another case": "SUB/OK.MD",
    "54 a star": "sub/*",
    "54 brackets": "sub/[o]k.md",
    "55 a command": "$(cat {data}/secret.md)",
    "55 two commands": "ok.md; cat {data}/secret.md",
    "55 an option": "--help",
}
# Honest names of files that are not there: making them inside is right, and nothing outside comes of it.
HARMLESS = ("39", "22", "23", "24", "25", "26", "27", "28", "30", "31", "32", "33", "34", "36", "40", "53", "54", "55")
MISSING = (*HARMLESS, "29")
ESCAPES = ("1", "2", "3", "4", "5", "6", "16", "17", "19", "45", "46", "47")

Trap = Callable[[House], str]


def _link(target: str) -> Trap:
    def make(house: House) -> str:
        (house.root / "sub/bad.md").symlink_to(target.format(data=house.data, outside=house.outside))
        return "sub/bad.md"

    return make


def _linked_folder(house: House) -> str:
    (house.root / "door").symlink_to(house.outside)
    return "door/secret.md"


def _chain(house: House) -> str:
    (house.root / "one").symlink_to(house.outside / "secret.md")
    (house.root / "two").symlink_to("one")
    return "two"


def _hard(house: House) -> str:
    os.link(house.outside / "secret.md", house.root / "hard.md")
    return "hard.md"


def _pipe(house: House) -> str:
    os.mkfifo(house.root / "pipe")
    return "pipe"


def _socket(house: House) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(house.root / "sock"))
    return "sock"


def _folder(house: House) -> str:
    (house.root / "folder.md").mkdir()
    return "folder.md"


TRAPS: dict[str, tuple[Trap, str]] = {
    "7 a link to a file outside": (_link("{outside}/secret.md"), "escape"),
    "8 a relative link": (_link("../../family-agent-config_evil/secret.md"), "escape"),
    "9 a linked folder": (_linked_folder, "escape"),
    "10 a chain of links": (_chain, "escape"),
    "11 a loop of links": (_link("bad.md"), "escape"),
    "12 a link through /proc": (_link("/proc/self/root{outside}/secret.md"), "escape"),
    "13 a link that stays inside": (_link("ok.md"), "escape"),
    "14 a link to nothing outside": (_link("{outside}/made.md"), "escape"),
    "15 a hard link": (_hard, "linked"),
    "47 a link to a device": (_link("/dev/stdin"), "escape"),
    "48 a pipe": (_pipe, "kind"),
    "48 a socket": (_socket, "kind"),
    "49 a link to endless zeros": (_link("/dev/zero"), "escape"),
    "52 a folder as a file": (_folder, "kind"),
}


def leaks(result: CallToolResult) -> bool:
    return CANARY in result.model_dump_json()


def untouched(house: House) -> bool:
    return (
        sorted(os.listdir(house.outside)) == ["secret.md"]
        and (house.outside / "secret.md").read_text() == CANARY
        and (house.data / "secret.md").read_text() == CANARY
    )


async def attack(house: House, path: str) -> list[CallToolResult]:
    """Every way a path goes in: to be read, listed, searched, made, added to, moved from and moved to."""
    return [
        await house.call("files.read", path=path),
        await house.call("files.list", folder=path),
        await house.call("files.search", words="silver", folder=path),
        await house.call("files.append", path=path, text=MARK),
        await house.call("files.move", path=path, to="sub/moved.md"),
        await house.call("files.move", path="sub/ok.md", to=path),
        await house.call("files.create", path=path, text=MARK),
    ]


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_no_name_leads_out(data: Path, wire: Any) -> None:
    build(data)
    wrong: list[str] = []
    async with opened(data, wire) as house:
        for row, name in NAMES.items():
            number, path = (
                row.split()[0],
                name.format(data=data, root=house.root) if "{data}" in name or "{root}" in name else name,
            )
            before = len(house.record)
            results = await attack(house, path)
            reads, made = results[:3], results[6]
            wrong += [f"{row}: {result}" for result in results if leaks(result)]
            wrong += [
                f"{row}: tells where folders lie"
                for r in results
                if r.is_error and str(data) in text(r) and str(data) not in path
            ]
            wrong += [f"{row}: no sentence" for r in results if r.is_error and not text(r).endswith((".", "?"))]
            if number not in MISSING and number not in ("19", "42", "43", "44", "50"):
                wrong += [f"{row}: read {text(r)}" for r in reads if not r.is_error]
                if not made.is_error or ((made.meta or {}).get(CODE) == ESCAPE) != (number in ESCAPES):
                    wrong.append(f"{row}: {text(made)} {(made.meta or {}).get(CODE)}")
            if not untouched(house):
                wrong.append(f"{row}: something happened outside")
            refused = [entry for entry in house.record[before:] if entry["outcome"] != "ok"]
            if len(refused) < sum(bool(r.is_error) for r in results):
                wrong.append(f"{row}: {len(refused)} rows for {sum(bool(r.is_error) for r in results)} refusals")
            reset(house)
    assert wrong == [], "\n".join(wrong)


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_no_trap_in_the_folder_leads_out(data: Path, wire: Any) -> None:
    build(data)
    wrong: list[str] = []
    async with opened(data, wire) as house:
        for row, (trap, reason) in TRAPS.items():
            path = trap(house)
            before = len(house.record)
            results = await attack(house, path)
            wrong += [f"{row}: {result}" for result in results if leaks(result)]
            read, added = results[0], results[3]
            for result in (read, added):
                if not result.is_error or ((result.meta or {}).get(CODE) == ESCAPE) != (reason != "kind"):
                    wrong.append(f"{row}: {text(result)} {result.meta}")
            if (read.meta or {}).get(DATA, {}).get("reason") != reason:
                wrong.append(f"{row}: {read.meta}")
            if not untouched(house):
                wrong.append(f"{row}: something happened outside")
            if len(house.record) < before + sum(bool(r.is_error) for r in results):
                wrong.append(f"{row}: no row")
            reset(house)
    assert wrong == [], "\n".join(wrong)


def text(result: CallToolResult) -> str:
    return str(result.content[0].text)  # type: ignore[union-attr]


def reset(house: House) -> None:
    """Take away what an attack made inside, which it may, and set its next trap on clean ground."""
    subprocess.run(["rm", "-rf", "--", *(str(path) for path in house.root.iterdir())], check=True)
    (house.root / "sub").mkdir()
    (house.root / "sub/ok.md").write_text("fine")


HONEST = [
    "100% cotton.md",
    "50%25 off.md",
    "a..b.md",
    "what...md",
    "Grüße – “quoted”.md",
    "e\u0301 decomposed.md",
    "é composed.md",
    "👨\u200d👩\u200d👧 family.md",
    "$5 & 10%; yes!.md",
    "-rf.md",
    "~notes~.md",
    "con.md",
    " leading space.md",
    "日本語/メモ.md",
    "deep/er/and/deeper/note.md",
]


@pytest.mark.real
async def test_honest_odd_names_still_work(data: Path, wire: Any) -> None:
    """Rows 36, 54, 55 and 70, from the other side: a wall that keeps people out of their own papers is none."""
    build(data)
    async with opened(data, wire) as house:
        for name in HONEST:
            made = await house.call("files.create", path=name, text="hello there")
            assert not made.is_error, (name, text(made))
            read = await house.call("files.read", path=name)
            assert (read.structured_content or {})["text"] == "hello there", name
            assert (house.root / name).read_text() == "hello there", name


@pytest.mark.real
async def test_what_is_too_large_or_odd_to_send_kills_nothing(data: Path, wire: Any) -> None:
    """Rows 35, 49, 50, 60, 62 and 63."""
    root, _ = build(data)
    with (root / "huge.md").open("wb") as file:
        file.truncate(1 << 40)
    with zipfile.ZipFile(root / "slip.zip", "w") as archive:
        archive.writestr("../../family-agent-config_evil/slipped.md", "x")
    async with opened(data, wire) as house:
        huge = await house.call("files.append", path="huge.md", text="x")
        assert huge.is_error
        assert "too large" in text(huge)
        assert len(text(await house.call("files.read", path="huge.md"))) < 1_000
        assert (await house.call("files.read", path="a/" * 6_000 + "b")).is_error  # longer than any argument may be
        zipped = await house.call("files.read", path="slip.zip")
        assert "I can't read aloud" in text(zipped)
        nested = await house.call("lists.add", items=["../../family-agent-config_evil/made.md"], list="../../x")
        assert not leaks(nested)
        note = await house.call("notes.create", title="../../family-agent-config_evil/made", text=MARK)
        assert not leaks(note)
        gone = house.root / "gone.md"
        gone.write_text("before")
        gone.unlink()
        gone.write_text("after")
        assert (await house.call("files.read", path="gone.md")).structured_content["text"] == "after"
        assert untouched(house)
    async with opened(data, wire) as house, httpx2.AsyncClient() as http:
        call = {"name": "files.read", "arguments": {"path": "sub/@.md"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).replace("@", "\\ud800")
        headers = {
            "Authorization": "Bearer family-token",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        answer = await http.post(f"http://127.0.0.1:{house.port}/mcp", content=body, headers=headers)
        assert CANARY not in answer.text
        assert not (await house.call("files.read", path="sub/ok.md")).is_error, "the connection survived"


# ── races ──────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do something over and over, in another thread, inside the block."""
    stop = threading.Event()

    def loop() -> None:
        while not stop.is_set():
            with suppress(OSError):
                act()

    racing = threading.Thread(target=loop)
    racing.start()
    try:
        yield
    finally:
        stop.set()
        racing.join()


def _swap_file(house: House) -> None:
    """Row 56: a file, a link to the secret, a file, …"""
    fresh, spare = house.root / "fresh", house.root / "spare"
    fresh.write_text("fine")
    os.replace(fresh, house.root / "race.md")
    spare.symlink_to(house.outside / "secret.md")
    os.replace(spare, house.root / "race.md")


def _swap_folder(house: House) -> None:
    """Rows 57 and 59: the folder on the way, a link to the folder outside, the folder, …"""
    os.rename(house.root / "way", house.root / "away")
    (house.root / "way").symlink_to(house.outside)
    (house.root / "way").unlink()
    os.rename(house.root / "away", house.root / "way")


def _swap_target(house: House) -> None:
    """Row 58: what a write is about to replace becomes a link to the secret."""
    spare = house.root / "spare2"
    spare.symlink_to(house.outside / "secret.md")
    os.replace(spare, house.root / "written.md")
    (house.root / "written.md").unlink()
    (house.root / "written.md").write_text("mine")


def _swap_root(house: House) -> None:
    """Row 65: the whole folder is taken away and a link put in its place."""
    away = house.root.with_name("away")
    os.rename(house.root, away)
    house.root.symlink_to(house.outside)
    house.root.unlink()
    os.rename(away, house.root)


RACES: dict[str, tuple[Callable[[House], None], list[tuple[str, dict[str, str]]]]] = {
    "56 file and link": (_swap_file, [("files.read", {"path": "race.md"})]),
    "57 59 folder and link": (
        _swap_folder,
        [("files.read", {"path": "way/secret.md"}), ("files.create", {"path": "way/made.md", "text": MARK})],
    ),
    "58 the file that is written": (_swap_target, [("files.append", {"path": "written.md", "text": MARK})]),
    "65 the root itself": (
        _swap_root,
        [("files.read", {"path": "secret.md"}), ("files.create", {"path": "made.md", "text": MARK})],
    ),
}


@pytest.mark.real
@pytest.mark.timeout(120)
async def test_no_race_is_won(data: Path, wire: Any) -> None:
    """Three seconds or ten thousand tries of each, while the ground is being swapped under the server."""
    root, _ = build(data)
    (root / "way").mkdir()
    async with opened(data, wire) as house:
        for row, (swap, calls) in RACES.items():
            until, tries = time.monotonic() + RACE_SECONDS, 0
            with meanwhile(lambda swap=swap: swap(house)):  # type: ignore[misc]
                while time.monotonic() < until and tries < RACE_READS:
                    for tool, arguments in calls:
                        result = await house.call(tool, **arguments)
                        assert not leaks(result), row
                        tries += 1
                    (house.root / "way" / "made.md").unlink(missing_ok=True)
            assert tries > 10, f"{row}: {tries} tries are no race"
            assert untouched(house), row


# ── whose folders ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.real
async def test_folders_that_a_client_offers_widen_nothing(data: Path, wire: Any) -> None:
    """Row 66: in the older protocol a client may send roots of its own."""
    build(data)

    async def offer(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[ClientRoot(uri=f"file://{data}"), ClientRoot(uri="file:///")])  # type: ignore[arg-type]

    async with opened(data, wire, mode="legacy", list_roots_callback=offer) as house:
        await house.client.session.send_roots_list_changed()
        for path in (f"{data}/secret.md", "../secret.md"):
            result = await house.call("files.read", path=path)
            assert (result.meta or {}).get(CODE) == ESCAPE
            assert not leaks(result)
        assert (await house.call("files.list")).structured_content["folders"] == ["sub"]


@pytest.mark.real
async def test_another_agents_folder_and_a_read_only_one_are_closed(data: Path, wire: Any) -> None:
    """Rows 67 and 68."""
    build(data)
    (data / "work-agent-config").mkdir()
    (data / "work-agent-config/plan.md").write_text(CANARY)
    closed_for(data, wire, 'roots = ["family-agent-config"]\nroots_read_only = ["family-agent-config"]')
    async with opened(data, wire) as house:
        other = await house.call("files.read", path="work-agent-config/plan.md")
        assert other.is_error
        assert not leaks(other)
        assert not (await house.call("files.read", path="sub/ok.md")).is_error
        for tool, arguments in {
            "files.create": {"path": "new.md", "text": "x"},
            "files.append": {"path": "sub/ok.md", "text": "x"},
            "files.move": {"path": "sub/ok.md", "to": "sub/other.md"},
            "notes.create": {"title": "Garden", "text": "x"},
        }.items():
            refused = await house.call(tool, **arguments)
            assert "only for reading" in text(refused), (tool, text(refused))
        assert sorted(path.name for path in house.root.rglob("*")) == ["ok.md", "sub"]


def mounted(outside: Path, inside: Path) -> bool:
    return subprocess.run(["mount", "--bind", str(outside), str(inside)], capture_output=True).returncode == 0


def unmount(inside: Path) -> None:
    subprocess.run(["umount", str(inside)], check=True)


@pytest.mark.real
@pytest.mark.skipif(os.getuid() != 0, reason="ONLY ROOT CAN MOUNT: row 61 was not tested")
async def test_a_mount_in_the_folder_is_not_entered(data: Path, wire: Any) -> None:
    """Row 61."""
    root, outside = build(data)
    (root / "mounted").mkdir()
    if not mounted(outside, root / "mounted"):
        pytest.skip("NOTHING CAN BE MOUNTED HERE: row 61 was not tested")
    try:
        async with opened(data, wire) as house:
            for result in await attack(house, "mounted/secret.md"):
                assert not leaks(result)
            blocked = await house.call("files.read", path="mounted/secret.md")
            assert (blocked.meta or {})[DATA]["reason"] == "escape"
            assert untouched(house)
    finally:
        unmount(root / "mounted")


ROOTS = {
    "64 a slash behind": ('roots = ["family-agent-config/"]', "is not the name of a folder"),
    "64 relative": ('roots = ["../family-agent-config"]', "is not the name of a folder"),
    "64 absolute": ('roots = ["/etc"]', "is not the name of a folder"),
    "64 nothing": ('roots = [""]', "is not the name of a folder"),
    "64 the house's own": ('roots = ["secrets"]', "is not the name of a folder"),
    "64 one within another": ('roots = ["family-agent-config", "within"]', "lies in the folder"),
    "68 read-only and not its own": ('roots = []\nroots_read_only = ["x"]', "not in roots"),
}


@pytest.mark.real
@pytest.mark.parametrize("row", ROOTS)
async def test_a_list_of_folders_that_cannot_be_kept_apart_stops_the_start(data: Path, wire: Any, row: str) -> None:
    root, _ = build(data)
    (data / "within").symlink_to(root / "sub")
    written, complaint = ROOTS[row]
    closed_for(data, wire, written)
    with pytest.raises(AssertionError, match=complaint):
        async with opened(data, wire):
            pass


@pytest.mark.real
async def test_a_folder_that_is_a_link_is_the_operators_word(data: Path, wire: Any) -> None:
    """Row 64: the operator may keep the family's folder on another disk; what it is then is fixed at the start."""
    (data / "elsewhere").mkdir()
    (data / "elsewhere/note.md").write_text("hello there")
    (data / "family-agent-config").symlink_to(data / "elsewhere")
    (data / "family-agent-config_evil").mkdir()
    (data / "family-agent-config_evil/secret.md").write_text(CANARY)
    async with opened(data, wire) as house:
        assert (await house.call("files.read", path="note.md")).structured_content["text"] == "hello there"
        (data / "family-agent-config").unlink()
        (data / "family-agent-config").symlink_to(data / "family-agent-config_evil")
        moved = await house.call("files.read", path="secret.md")
        assert moved.is_error
        assert not leaks(moved)
