"""Notes: files that people edit by hand while the server reads and writes them, each agent its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml


def folder(world: Any) -> Path:
    return Path(world.data / "family-agent-config" / "notes")


def write(world: Any, name: str, text: str) -> Path:
    file = folder(world) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def titles(answer: Any, of: str = "notes") -> list[str]:
    return [note["title"] for note in answer.data[of]]


async def test_a_note_that_is_only_a_sentence_is_told_as_one(world: Any) -> None:
    text = await world.said("notes.create", title="the boiler makes a noise")
    assert text == "Noted: the boiler makes a noise."
    assert await world.said("notes.read", title="boiler") == "The note says only: the boiler makes a noise."
    assert await world.said("notes.search", words="boiler") == "There is the note: the boiler makes a noise."
    text = await world.said("memory.search", query="boiler noise")
    assert text == "The nearest is in notes, the boiler makes a noise: the boiler makes a noise."


async def test_a_note_becomes_a_file_that_people_can_read(world: Any) -> None:
    assert (
        await world.said("notes.create", title="Wi-Fi", text="The password is on the fridge.") == "Noted under Wi-Fi."
    )
    text = (folder(world) / "wi-fi.md").read_text()
    assert text.startswith("---\ntitle: Wi-Fi\ncreated: ")
    assert text.endswith("---\n\nThe password is on the fridge.\n")
    assert set(next(yaml.safe_load_all(text))) == {"title", "created", "id"}
    answer = await world.ok("notes.read", title="wi fi")
    assert answer.text == "Wi-Fi: The password is on the fridge."
    assert answer.data["text"] == "The password is on the fridge."


async def test_a_note_of_the_same_title_is_not_overwritten(world: Any) -> None:
    await world.ok("notes.create", title="Garden", text="Roses.")
    text = await world.said("notes.create", title="garden", text="Tulips.")
    assert text == "There is already a note called garden, so this one is called garden 2."
    assert await world.said("notes.read", title="Garden") == "Garden: Roses."
    assert await world.said("notes.read", title="garden 2") == "Garden 2: Tulips."


async def test_a_note_grows_at_its_end_and_every_other_byte_stays(world: Any) -> None:
    text = "---\ntitle: Garden # ours\ntags: [a, b]\n---\n\n* roses\n---\nlast line"
    file = write(world, "g.md", text)
    assert await world.said("notes.append", title="garden", text="* tulips\n") == "Added it to Garden."
    assert file.read_text() == f"{text}\n* tulips\n"


async def test_windows_line_ends_are_kept(world: Any) -> None:
    file = write(world, "w.md", "# W\r\nbody\r\n")
    await world.ok("notes.append", title="W", text="more")
    assert file.read_bytes() == b"# W\r\nbody\r\nmore\r\n"


async def test_a_note_without_end_is_refused(world: Any) -> None:
    write(world, "log.md", "word " * 26_200)
    assert (await world.refused("notes.append", title="log", text="x" * 200)).text == "Log is full. Begin a new note."


async def test_a_note_is_found_by_what_it_says(world: Any) -> None:
    await world.ok("notes.create", title="Plumber", text="Call Rossi, not Verdi.")
    await world.ok("notes.create", title="House", text=f"{'Some words. ' * 40}The plumber has the key. {'More. ' * 60}")
    write(world, "old/2019/bath.md", "Ask about the *plumbing*.\n")
    answer = await world.ok("notes.search", words="plumb")
    assert answer.text == "3 notes hold that: Plumber, bath and House."
    snippet = answer.data["matches"][2]["snippet"]
    assert "The plumber has the key." in snippet
    assert snippet.startswith("…")
    assert len(snippet) < 170
    assert (
        await world.said("notes.search", words="plumber ROSSI") == "It is in the note Plumber: Call Rossi, not Verdi."
    )
    assert await world.said("notes.search", words="electrician") == "No note holds electrician."


async def test_a_note_is_found_by_its_title_or_nearly(world: Any) -> None:
    await world.ok("notes.create", title="Boiler manual")
    await world.ok("notes.create", title="Oven manual")
    assert await world.said("notes.read", title="boiler") == "The note says only: Boiler manual."
    assert await world.said("notes.read", title="the boyler manual") == "The note says only: Boiler manual."
    assert (await world.refused("notes.read", title="manual")).text in (
        "Which note: Boiler manual or Oven manual?",
        "Which note: Oven manual or Boiler manual?",
    )
    missing = await world.refused("notes.read", title="bowls")
    assert (missing.error, missing.text) == ("not_found", "There is no note called bowls.")


async def test_what_is_read_aloud_is_fit_for_it(world: Any) -> None:
    body = "# Cake\n\n- [ ] 3 eggs\n- `flour`\n\n> **Bake** it <b>well</b>\n1. Wait\n" + "Then more. " * 100
    write(world, "cake.md", body)
    answer = await world.ok("notes.read", title="cake")
    assert answer.text.startswith("Cake: Cake. 3 eggs. flour. Bake it well. 1. Wait. Then more. Then")
    assert answer.text.endswith(", and so on.")
    assert len(answer.text) < 650
    assert answer.data["text"] == body.strip()


async def test_the_newest_note_is_named_first(world: Any) -> None:
    import os

    for number, name in enumerate(("old", "new", "older"), 1):
        os.utime(write(world, f"{name}.md", "x\n"), (0, {1: 200, 2: 300, 3: 100}[number]))
    assert await world.said("notes.list") == "You have 3 notes: new, old and older."


async def test_one_broken_file_is_reported_and_hides_no_other(world: Any) -> None:
    await world.ok("notes.create", title="Good")
    write(world, "broken.md", "---\ntitle: [unclosed\n---\n")
    (folder(world) / "latin.md").write_bytes(b"caf\xe9")
    (folder(world) / "door.md").symlink_to(world.data / "agents.toml")
    write(world, "photo.png", "not a note")
    for tool, of in (("notes.list", "notes"), ("notes.search", "matches")):
        answer = await world.ok(tool, **({"words": "good"} if of == "matches" else {}))
        assert titles(answer, of) == ["Good"]
        assert [problem["file"] for problem in answer.data["problems"]] == ["broken.md", "door.md", "latin.md"]
        assert "I could not read 3 files, such as broken.md: its front matter is not YAML" in answer.text


@pytest.mark.parametrize("title", ["../../x", ".env", "🍕", "买牛奶", "x" * 200, "---", "a\nb", "notes/garden/roses"])
async def test_an_odd_title_makes_one_file_in_the_folder_and_is_found_again(world: Any, title: str) -> None:
    await world.ok("notes.create", title=title, text="body")
    assert [file.parent for file in world.data.rglob("*.md")] == [folder(world)]
    assert (await world.ok("notes.read", title=title)).data["text"] == "body"


# ── taking away, and back ──────────────────────────────────────────────────────────────────────────


async def test_a_note_is_removed_only_when_somebody_says_yes_and_comes_back(world: Any) -> None:
    file = write(world, "g.md", "---\ntitle: Garden\n---\nRed roses\n")
    query = await world.refused("notes.remove", title="garden")
    assert query.text.startswith("Remove the note Garden, with 2 words, for good?")
    write(world, "e.md", "---\ntitle: Envelope\n---\n\n")
    empty = await world.refused("notes.remove", title="envelope")
    assert empty.text.startswith("Remove the note Envelope, which is empty, for good?")
    assert file.exists()
    assert (await world.refused("notes.remove", title="gardens")).error == "not_found"
    await world.ok("notes.remove", title="garden")
    assert not file.exists()
    await world.ok("history.undo")
    assert file.read_text() == "---\ntitle: Garden\n---\nRed roses\n"


async def test_what_was_noted_can_be_taken_back(world: Any) -> None:
    await world.ok("notes.create", title="Garden", text="Roses.")
    text = (folder(world) / "garden.md").read_text()
    await world.ok("notes.append", title="garden", text="Tulips.")
    await world.ok("history.undo")
    assert (folder(world) / "garden.md").read_text() == text
    created = await world.ok("notes.create", title="Other")
    await world.ok("history.undo", receipt=created.receipt.id)
    assert [file.name for file in folder(world).iterdir()] == ["garden.md"]


async def test_what_somebody_wrote_since_is_not_undone(world: Any) -> None:
    await world.ok("notes.create", title="Garden", text="Roses.")
    write(world, "garden.md", "mine\n")
    refused = await world.refused("history.undo")
    assert refused.text == "I can't take that back: notes/garden.md was edited since."
    assert (folder(world) / "garden.md").read_text() == "mine\n"


# ── whose notes ────────────────────────────────────────────────────────────────────────────────────


async def test_the_notes_of_one_agent_are_never_seen_by_the_other(world: Any) -> None:
    await world.ok("notes.create", title="Birthday", text="A surprise.")
    await world.ok("notes.create", "work", title="Merger", text="Not a word.")
    assert titles(await world.ok("notes.list")) == ["Birthday"]
    assert titles(await world.ok("notes.list", "work")) == ["Merger"]
    assert (await world.refused("notes.read", title="Merger")).error == "not_found"
    assert (await world.refused("notes.read", "work", title="Birthday")).error == "not_found"
    assert titles(await world.ok("notes.search", words="word"), "matches") == []
    assert (world.data / "work-agent-config" / "notes" / "merger.md").exists()


async def test_an_agent_without_a_folder_has_no_notes(world: Any) -> None:
    refused = await world.refused("notes.list", "guest", {"role": "adult"})
    assert (refused.error, refused.text) == ("denied", "The guest agent has no folder of its own.")


async def test_what_was_edited_meanwhile_is_written_over_only_by_whoever_has_seen_it(world: Any) -> None:
    await world.ok("notes.create", title="Garden", text="Roses.")
    begun = (await world.ok("notes.read", title="Garden")).data["revision"]
    await world.ok("notes.append", title="Garden", text="Tulips.")
    refused = await world.refused("notes.write", title="Garden", parts=["Lilies."], revision=begun)
    assert refused.text == "Somebody else has changed Garden meanwhile."
    assert refused.data["text"] == "Roses.\nTulips."
    await world.ok("notes.write", title="Garden", parts=["Lilies."], revision=refused.data["revision"])
    assert (await world.ok("notes.read", title="Garden")).data["text"] == "Lilies."


async def test_a_longer_text_than_can_be_shown_is_written_over_by_nobody(world: Any) -> None:
    await world.ok("notes.create", title="Log", text="x")
    begun = (await world.ok("notes.read", title="Log")).data["revision"]
    [file] = folder(world).glob("*.md")
    file.write_text(file.read_text() + "word " * 12_100)
    refused = await world.refused("notes.write", title="Log", parts=["y"], revision=begun)
    assert (refused.data["text"], refused.data["revision"]) == ("", "")
