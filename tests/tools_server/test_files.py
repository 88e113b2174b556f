"""Files: whatever is asked for, nothing outside the agent's own folders is read, written or told of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import for_every

ROOT = "family-agent-config"


def write(world: Any, name: str, content: str | bytes, root: str = ROOT) -> Path:
    file = Path(world.data / root / name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


async def test_a_folder_is_listed(world: Any) -> None:
    assert await world.said("files.list") == "Your folder is empty."
    write(world, "notes/garden.md", "roses")
    write(world, "plan.txt", "one")
    answer = await world.ok("files.list")
    assert answer.text == "Your folder holds the folder notes and plan.txt."
    assert answer.data == {"folders": ["notes"], "files": [{"name": "plan.txt", "bytes": 3}]}
    assert await world.said("files.list", folder="notes/") == "notes holds garden.md."
    assert (await world.refused("files.list", folder="note")).error == "not_found"


async def test_a_text_is_read_and_a_long_one_by_pages(world: Any) -> None:
    write(world, "short.txt", "# One\ntwo")
    assert await world.said("files.read", path="short.txt") == "short.txt: One. two."
    text = "Grüße aus dem Süden. " * 2_000
    write(world, "long.txt", text)
    read, offset, pages = "", 0, 0
    while offset is not None:
        answer = await world.ok("files.read", path="long.txt", offset=offset)
        read += answer.data["text"]
        offset = answer.data["next_offset"]
        pages += 1
    assert (read, pages) == (text, 3)


@for_every(
    ("content", "text"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 2_000_000, "x.bin is a picture of 2 megabytes, which I can't read aloud."),
        (b"%PDF-1.7 \x00", "x.bin is a PDF document of 10 bytes, which I can't read aloud."),
        (b"RIFF\0\0\0\0WAVEfmt ", "x.bin is a sound of 16 bytes, which I can't read aloud."),
        (b"caf\xe9 au lait", "x.bin is a file that is no text of 12 bytes, which I can't read aloud."),
        (b"a\0b", "x.bin is a file that is no text of 3 bytes, which I can't read aloud."),
        (b"", "x.bin is empty."),
        ("ü".encode()[:1] + b"", "x.bin is empty."),
    ],
)
async def test_of_a_file_that_is_no_text_it_is_told_what_it_is(world: Any, content: bytes, text: str) -> None:
    write(world, "x.bin", content)
    assert await world.said("files.read", path="x.bin") == text


async def test_a_file_is_found_by_its_name_or_by_a_line_in_it(world: Any) -> None:
    write(world, "house/plumber.txt", "Rossi\n")
    write(world, "house/bills.md", "1. power\n2. the Plumber, 80 euros\n")
    write(world, "photo.png", b"\x89PNG plumber")
    answer = await world.ok("files.search", words="plumber")
    assert answer.text == "Found in 2 files: bills.md and plumber.txt."
    assert answer.data["matches"] == [
        {"file": "house/bills.md", "line": 2, "text": "2. the Plumber, 80 euros"},
        {"file": "house/plumber.txt", "line": 0, "text": ""},
    ]
    assert await world.said("files.search", words="plumber", folder="house") == answer.text
    assert await world.said("files.search", words="merger") == "No file holds merger."


async def test_a_search_without_end_says_that_it_stopped(world: Any) -> None:
    for number in range(12):
        write(world, f"{number:02}.txt", "plumber\n" * 10)
    answer = await world.ok("files.search", words="plumber")
    assert (len(answer.data["matches"]), answer.data["whole"]) == (50, False)
    assert answer.text.endswith("I did not look at everything: name a folder to look closer.")


async def test_a_new_file_takes_the_place_of_none(world: Any) -> None:
    assert await world.said("files.create", path="plans/summer.txt", text="Sea") == "Made plans/summer.txt."
    refused = await world.refused("files.create", path="plans/summer.txt", text="Hills")
    assert (refused.error, refused.text) == ("failed", "There is already a plans/summer.txt.")
    assert (world.data / ROOT / "plans" / "summer.txt").read_text() == "Sea"


async def test_lines_are_added_at_the_end(world: Any) -> None:
    file = write(world, "log.txt", "one")
    await world.ok("files.append", path="log.txt", text="two")
    assert file.read_text() == "one\ntwo\n"
    write(world, "photo.png", b"\x89PNG")
    assert (await world.refused("files.append", path="photo.png", text="two")).error == "invalid"
    missing = await world.refused("files.append", path="logs.txt", text="two")
    assert missing.text == "There is no logs.txt. The nearest is log.txt."


async def test_a_file_is_moved_and_takes_the_place_of_none(world: Any) -> None:
    write(world, "a.txt", "a")
    write(world, "b.txt", "b")
    write(world, "old/c.txt", "c")
    assert (await world.refused("files.move", path="a.txt", to="b.txt")).text == "There is already a b.txt."
    assert await world.said("files.move", path="a.txt", to="old") == "a.txt is now old/a.txt."
    assert await world.said("files.move", path="old/a.txt", to="new/d.txt") == "old/a.txt is now new/d.txt."
    assert await world.said("files.move", path="new/d.txt", to="/") == "new/d.txt is now d.txt."
    assert (world.data / ROOT / "d.txt").read_text() == "a"


# ── taking away, and back ──────────────────────────────────────────────────────────────────────────


async def test_writing_over_a_file_says_what_is_lost_and_asks(world: Any) -> None:
    file = write(world, "plan.txt", "one two three")
    query = await world.refused("files.write", path="plan.txt", text="four five")
    assert query.text.startswith("Put 2 words in place of all that is in plan.txt, which is 3 words?")
    new = await world.refused("files.write", path="new.txt", text="four")
    assert new.text.startswith("Write a new file, new.txt, of 1 word?")
    assert file.read_text() == "one two three"
    await world.ok("files.write", path="plan.txt", text="four five")
    assert file.read_text() == "four five"
    await world.ok("history.undo")
    assert file.read_text() == "one two three"


async def test_a_removed_file_comes_back_to_the_byte(world: Any) -> None:
    content = b"\x89PNG\r\n" + bytes(range(256))
    file = write(world, "photo.png", content)
    query = await world.refused("files.remove", path="photo.png")
    assert query.text.startswith("Remove photo.png, a picture of 262 bytes?")
    await world.ok("files.remove", path="photo.png")
    assert not file.exists()
    await world.ok("history.undo")
    assert file.read_bytes() == content


async def test_what_is_too_large_to_bring_back_is_said_before_it_is_removed(world: Any) -> None:
    file = write(world, "film.mp4", b"\0\0\0\x20ftypisom" + b"x" * 3_000_000)
    query = await world.refused("files.remove", path="film.mp4")
    text = "Remove film.mp4, a video of 3 megabytes? It is too large to bring back afterwards."
    assert query.text.startswith(text)
    await world.ok("files.remove", path="film.mp4")
    assert not file.exists()
    refused = await world.refused("history.undo")
    assert "can't" in refused.text


async def test_a_move_is_taken_back_unless_its_place_is_taken(world: Any) -> None:
    write(world, "a.txt", "a")
    moved = await world.ok("files.move", path="a.txt", to="b/c.txt")
    write(world, "a.txt", "other")
    refused = await world.refused("history.undo", receipt=moved.receipt.id)
    assert refused.text == "I can't take that back: b/c.txt can't go back: its place is taken."
    (world.data / ROOT / "a.txt").unlink()
    await world.ok("history.undo", receipt=moved.receipt.id)
    assert (world.data / ROOT / "a.txt").read_text() == "a"
    assert list((world.data / ROOT / "b").iterdir()) == []


async def test_what_was_made_or_added_can_be_taken_back(world: Any) -> None:
    await world.ok("files.create", path="a.txt", text="one\n")
    await world.ok("files.append", path="a.txt", text="two")
    await world.ok("history.undo")
    assert (world.data / ROOT / "a.txt").read_text() == "one\n"


# ── what cannot be reached ─────────────────────────────────────────────────────────────────────────

SECRET = "the secret of the house"


@pytest.fixture
def trapped(world: Any) -> Iterator[Any]:
    """A folder with every kind of door out of it."""
    root = world.data / ROOT
    outside = world.data / "outside"
    outside.mkdir()
    secret = outside / "secret.txt"
    secret.write_text(SECRET)
    evil = world.data / f"{ROOT}-evil"
    evil.mkdir()
    (evil / "secret.txt").write_text(SECRET)
    write(world, "ok.txt", "fine")
    (root / "link.txt").symlink_to(secret)
    (root / "near.txt").symlink_to("ok.txt")
    (root / "door").symlink_to(outside)
    (root / "magic").symlink_to("/proc/self/root")
    (root / "loop").symlink_to("loop")
    (root / "dangling.txt").symlink_to(outside / "new.txt")
    (root / "hard.txt").hardlink_to(secret)
    (root / ".env").write_text(SECRET)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text(SECRET)
    os.mkfifo(root / "pipe")
    yield world
    assert secret.read_text() == SECRET
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]


ESCAPES = [
    "../outside/secret.txt",
    "notes/../../outside/secret.txt",
    "/etc/passwd",
    "../family-agent-config-evil/secret.txt",
    "link.txt",
    "near.txt",
    "door/secret.txt",
    "magic/etc/passwd",
    "loop",
    "dangling.txt",
    "hard.txt",
    "..//outside/secret.txt",
    "./.././outside/secret.txt",
    "ok.txt/",
    "notes/..",
    "ok.txt\0.png",
    "%2e%2e/outside/secret.txt",
    "..\\outside\\secret.txt",
    "~/secret.txt",
    "$HOME/secret.txt",
    "file:///etc/passwd",
    "\\\\host\\c$",
    "C:\\secret.txt",
    "．．/outside/secret.txt",
    "‥/outside/secret.txt",
    "..∕outside∕secret.txt",
    "a\u202etxt.exe",
    "ok\u200b.txt",
    "ok.txt\n",
    ".",
    "/",
    "..",
    "/proc/self/environ",
    "/dev/stdin",
    "pipe",
    "a/" * 400 + "x",
    "x" * 300,
    ".env",
    ".git/config",
    "work-agent-config/notes/x.md",
    "family-agent-config/../outside/secret.txt",
    "family-agent-config/.env",
    "family-agent-config//etc/passwd",
    "",
]
TOOLS = {
    "files.list": ("folder", {}),
    "files.read": ("path", {}),
    "files.search": ("folder", {"words": "secret"}),
    "files.create": ("path", {"text": "x"}),
    "files.append": ("path", {"text": "x"}),
    "files.write": ("path", {"text": "x"}),
    "files.move": ("path", {"to": "taken.txt"}),
    "files.remove": ("path", {}),
}
# Names that lead nowhere bad: a file of such a name may be made, and nothing else is touched.
HARMLESS = {
    "%2e%2e/outside/secret.txt",
    "~/secret.txt",
    "$HOME/secret.txt",
    "\\\\host\\c$",
    "C:\\secret.txt",
    "．．/outside/secret.txt",
    "‥/outside/secret.txt",
    "work-agent-config/notes/x.md",
}
FOLDERS = {"", ".", "/"}  # of a folder, they are the agent's own


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_path_leads_out_of_the_folder(trapped: Any, path: str) -> None:
    for tool, (argument, others) in TOOLS.items():
        answer = await trapped.call(tool, **{argument: path}, **others)
        message = f"{answer.text} {answer.data}".replace(path, "")
        assert SECRET not in message, tool
        assert str(trapped.data) not in message, tool
        assert trapped.record[-1]["tool"] == tool
        if path in HARMLESS:
            assert answer.error in (None, "not_found", "confirm"), tool
        elif not (argument == "folder" and path in FOLDERS):
            assert answer.error in ("denied", "invalid", "not_found", "failed"), (tool, answer.text)


@pytest.mark.parametrize(
    "to", ["door/x.txt", "door", "../x.txt", "magic/tmp/x", ".git/x", "/tmp/x", "link.txt", "a\0b"]
)
async def test_nothing_is_moved_out_of_the_folder(trapped: Any, to: str) -> None:
    answer = await trapped.refused("files.move", path="ok.txt", to=to)
    assert str(trapped.data) not in answer.text
    assert (trapped.data / ROOT / "ok.txt").read_text() == "fine"


async def test_hidden_files_links_and_pipes_are_not_found_by_searching(trapped: Any) -> None:
    answer = await trapped.ok("files.search", words="secret")
    assert answer.data["matches"] == []


@pytest.mark.parametrize(
    "name",
    ["100% sure.txt", "naïve – “quoted”.txt", " leading", "trailing.", "a..b", "…", "-rf", "$(id);x", "*?[a]", "CON"],
)
async def test_an_odd_name_that_stays_in_the_folder_works(world: Any, name: str) -> None:
    await world.ok("files.create", path=name, text="fine")
    assert (await world.ok("files.read", path=name)).data["text"] == "fine"
    assert (world.data / ROOT / name).read_text() == "fine"


async def test_the_files_of_one_agent_are_never_seen_by_the_other(world: Any) -> None:
    write(world, "merger.txt", "Not a word.", "work-agent-config")
    for path in ("merger.txt", "work-agent-config/merger.txt", "../work-agent-config/merger.txt"):
        answer = await world.refused("files.read", path=path)
        assert "Not a word" not in f"{answer.text} {answer.data}"
    assert (await world.ok("files.search", words="merger")).data["matches"] == []
    assert await world.said("files.read", "work", path="merger.txt") == "merger.txt: Not a word."


async def test_an_agent_with_two_folders_names_them(world: Any) -> None:
    both = world.agents["work"].__class__("work", ("*",), ("work-agent-config", ROOT), acts_as="owner")
    world.agents["work"] = both
    write(world, "family.txt", "ours")
    write(world, "work.txt", "mine", "work-agent-config")
    assert await world.said("files.list", "work") == "You have 2 folders: work-agent-config and family-agent-config."
    assert await world.said("files.read", "work", path="work.txt") == "work.txt: mine."
    assert await world.said("files.read", "work", path=f"{ROOT}/family.txt") == "family.txt: ours."
    result = (await world.ok("files.search", "work", words="txt")).data["matches"]
    assert [match["file"] for match in result] == ["work-agent-config/work.txt", "family-agent-config/family.txt"]


async def test_what_heads_a_paper_is_not_read_aloud(world: Any) -> None:
    await world.ok("notes.create", title="Wifi", text="It is hunter2")
    read = await world.ok("files.read", path="notes/wifi.md")
    assert read.text == "wifi.md: It is hunter2."
    assert read.data["text"].startswith("---")
    await world.ok("files.create", path="odd.md", text="---\nnever ends")
    assert "never ends" in await world.said("files.read", path="odd.md")
