"""The task board: files that people edit by hand while the server reads and writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import for_every
from tools_server.writing.papers import Unreadable, front_matter, slug, with_value


def write(world: Any, name: str, text: str) -> Path:
    world.board.mkdir(parents=True, exist_ok=True)
    file: Path = world.board / name
    file.write_bytes(text.encode())
    return file


def titles(answer: Any) -> list[str]:
    return [task["title"] for task in answer.data["tasks"]]


async def test_a_task_becomes_a_file_that_people_can_read(world: Any) -> None:
    answer = await world.ok("tasks.add", title="Buy milk", due="2026-12-24", priority="high", assignee="Anna")
    assert answer.text == "Added Buy milk to your tasks, due Thursday, December 24, for Anna."
    text = (world.board / "buy-milk.md").read_text()
    assert text.startswith("---\ntitle: Buy milk\ncolumn: todo\npriority: high\nassignee: Anna\n")
    values = next(yaml.safe_load_all(text))
    assert set(values) == {"title", "column", "priority", "assignee", "due", "created", "id"}
    assert await world.said("tasks.list") == "You have 1 task: Buy milk."


async def test_a_task_moves_through_the_columns(world: Any) -> None:
    await world.ok("tasks.add", title="Fix the tap")
    assert await world.said("tasks.move", title="fix the tap", column="doing") == "Fix the tap is in progress."
    assert await world.said("tasks.list", column="doing") == "You have 1 task in progress: Fix the tap."
    assert await world.said("tasks.done", title="the tap") == "Fix the tap is done."
    assert await world.said("tasks.list") == "There are no tasks."
    assert await world.said("tasks.list", column="done") == "You have 1 task done: Fix the tap."
    again = await world.ok("tasks.done", title="Fix the tap")
    assert (again.text, again.receipt) == ("Fix the tap is already done.", None)


async def test_removing_a_task_keeps_enough_to_bring_it_back(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    text = (world.board / "buy-milk.md").read_text()
    answer = await world.ok("tasks.remove", title="buy milk")
    assert answer.text == "Removed Buy milk from your tasks."
    assert list(world.board.iterdir()) == []
    (row,) = world.gate._state.rows("SELECT before FROM receipts WHERE id = ?", answer.receipt.id)
    assert yaml.safe_load(row["before"]) == {
        "root": "family-agent-config",
        "file": "tasks/home/buy-milk.md",
        "text": text,
    }


async def test_the_most_pressing_task_is_named_first(world: Any) -> None:
    await world.ok("tasks.add", title="Low", priority="low")
    await world.ok("tasks.add", title="Later", due="2027-01-01")
    await world.ok("tasks.add", title="Sooner", due="2026-12-01")
    await world.ok("tasks.add", title="High", priority="high")
    assert titles(await world.ok("tasks.list")) == ["High", "Sooner", "Later", "Low"]


async def test_a_long_list_is_not_read_out_whole(world: Any) -> None:
    for number in range(8):
        await world.ok("tasks.add", title=f"Task {number}")
    answer = await world.ok("tasks.list")
    assert answer.text == "You have 8 tasks: Task 0, Task 1, Task 2, Task 3, Task 4 and 3 more."
    assert len(answer.data["tasks"]) == 8


async def test_what_is_due_is_told_with_its_day(world: Any) -> None:
    world.clock[0] = 1_795_158_000.0  # Friday, November 20, 2026, at eight
    for title, due in (("Late", "2026-11-18"), ("Soon", "2026-11-21T18:00"), ("Then", "2026-11-25"), ("Ever", "")):
        await world.ok("tasks.add", title=title, due=due)
    assert titles(await world.ok("tasks.list", due="today")) == ["Late"]
    text = await world.said("tasks.list", due="this week")
    assert text == "You have 2 tasks due this week: Late due Wednesday, November 18 and Soon due tomorrow."
    assert titles(await world.ok("tasks.list", due="overdue")) == ["Late"]
    assert titles(await world.ok("tasks.list", due="2026-11-25")) == ["Then"]
    assert await world.said("tasks.list", due="next month") == "There are no tasks due next month."
    assert (await world.refused("tasks.list", due="whenever")).error == "invalid"


async def test_a_due_date_may_be_said_in_words(world: Any) -> None:
    world.clock[0] = 1_795_158_000.0  # Friday, November 20, 2026, at eight
    for words, due in (
        ("tomorrow", "2026-11-21"),
        ("next Friday", "2026-11-27"),
        ("Sunday at 6 PM", "2026-11-22T18:00"),
    ):
        assert (await world.ok("tasks.add", title=words, due=words)).data["task"]["due"] == due
    text = await world.said("tasks.add", title="Mow", due="sunday", assignee="Tom")
    assert text == "Added Mow to your tasks, due Sunday, for Tom."
    text = await world.said("tasks.change", title="next Friday", due="by Monday")
    assert text == "Next Friday is due Monday."


async def test_tasks_are_told_by_who_should_do_them(world: Any) -> None:
    await world.ok("tasks.add", title="Mow", assignee="Anna")
    await world.ok("tasks.add", title="Cook", assignee="Tom")
    assert await world.said("tasks.list", assignee="anna") == "There is 1 task for anna: Mow."
    assert await world.said("tasks.list", assignee="Eve") == "There are no tasks for Eve."


async def test_a_task_is_changed_in_the_lines_that_it_is_about(world: Any) -> None:
    world.clock[0] = 1_795_158_000.0
    text = "---\n# ours\ntitle: Paint\ndue: 2026-12-01 # maybe\ntags: [a]\n---\nbody\n"
    file = write(world, "p.md", text)
    phrase = await world.said("tasks.change", title="paint", due="2026-11-21", priority="high", assignee="Tom")
    assert phrase == "Paint is due tomorrow, has high priority and is for Tom."
    assert file.read_text() == (
        "---\n# ours\ntitle: Paint\ndue: '2026-11-21'\ntags: [a]\npriority: high\nassignee: Tom\n---\nbody\n"
    )
    again = await world.ok("tasks.change", title="paint", priority="high")
    assert (again.text, again.receipt) == ("Paint is like that already.", None)
    phrase = await world.said("tasks.change", title="paint", due="none", assignee="nobody", new_title="Paint the door")
    assert phrase == "Paint is now called Paint the door, has no due date and is for nobody."
    assert await world.said("history.undo") == "Paint is as it was."
    assert (await world.refused("tasks.change", title="paint")).text == "What shall I change about Paint?"


async def test_the_board_of_one_agent_is_never_seen_by_the_other(world: Any) -> None:
    await world.ok("tasks.add", title="Party")
    await world.ok("tasks.add", "work", title="Merger")
    assert titles(await world.ok("tasks.list")) == ["Party"]
    assert titles(await world.ok("tasks.list", "work")) == ["Merger"]


# ── which task is meant ────────────────────────────────────────────────────────────────────────────


async def test_a_title_need_not_be_said_exactly(world: Any) -> None:
    await world.ok("tasks.add", title="Call the plumber about the bath")
    await world.ok("tasks.add", title="Buy milk")
    assert await world.said("tasks.done", title="buy milks") == "Buy milk is done."
    assert await world.said("tasks.done", title="plumber") == "Call the plumber about the bath is done."


async def test_a_title_that_is_not_there_is_answered_with_the_nearest(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    answer = await world.refused("tasks.done", title="buy silk scarf")
    assert (answer.error, answer.data["nearest"]) == ("not_found", ["Buy milk"])
    assert answer.text == "There is no task called buy silk scarf. The nearest is Buy milk."


async def test_removing_never_guesses(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    assert (await world.refused("tasks.remove", title="buy milks")).error == "not_found"
    assert titles(await world.ok("tasks.list")) == ["Buy milk"]


async def test_only_tasks_that_were_named_can_be_meant(world: Any) -> None:
    for number in range(1, 8):
        await world.ok("tasks.add", title=f"Call number {number}")
    answer = await world.refused("tasks.done", title="call")
    assert answer.text.endswith(" or one of 2 more?")
    assert (len(answer.data["several"]), answer.data["more"]) == (5, 2)


async def test_when_several_could_be_meant_it_asks_which(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    await world.ok("tasks.add", title="Buy bread")
    answer = await world.refused("tasks.done", title="buy")
    assert answer.text == "Which task: Buy bread or Buy milk?"


async def test_the_same_title_twice_is_two_tasks_done_one_after_the_other(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    await world.ok("tasks.add", title="Buy milk")
    assert sorted(path.name for path in world.board.iterdir()) == ["buy-milk-2.md", "buy-milk.md"]
    await world.ok("tasks.done", title="buy milk")
    assert titles(await world.ok("tasks.list")) == ["Buy milk"]
    await world.ok("tasks.done", title="buy milk")
    assert titles(await world.ok("tasks.list")) == []


async def test_the_hundredth_task_of_a_title_costs_no_more_writes_than_the_first(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    syncs: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (syncs.append(fd), real(fd))[1])
    for _ in range(2):
        await world.ok("tasks.add", title="Buy milk")  # the first makes the folders
    first = len(syncs)
    for _ in range(20):
        await world.ok("tasks.add", title="Buy milk")
    syncs.clear()
    await world.ok("tasks.add", title="Buy milk")
    assert len(syncs) <= first
    assert (world.board / "buy-milk-23.md").exists()


# ── odd titles ─────────────────────────────────────────────────────────────────────────────────────

ODD = [
    "../../../../etc/passwd",
    "..",
    ".",
    "/",
    "/etc/passwd",
    "a/b/c",
    "..\\..\\windows",
    "~/.ssh/authorized_keys",
    ".env",
    "$(rm -rf /)",
    "`id`; true",
    "🍕🍕🍕",
    "买牛奶",
    "Ünïcödé – “quotes”",
    "x" * 300,
    "con",
    "%2e%2e%2f",
    "file:///etc/passwd",
    "yes",
    "null",
    "42",
    "2026-12-24",
    "key: value",
    "- item",
    "# heading",
    "---",
    "&anchor *alias !!python/object",
    "\"quoted\" and 'quoted'",
    "trailing dots...",
    "{braces: [brackets]}",
    "next\u2028line\u0085end",
]


@pytest.mark.parametrize("title", ODD)
async def test_an_odd_title_makes_one_file_in_the_folder_and_comes_back_as_it_was(world: Any, title: str) -> None:
    await world.ok("tasks.add", title=title)
    everything = {path for path in world.data.rglob("*") if path.is_file()}
    made = [path for path in everything if path.suffix == ".md"]
    assert [path.parent for path in made] == [world.board]
    assert len(made[0].name) < 80
    plain = " ".join(title.replace("\u2028", " ").replace("\u0085", " ").split())
    assert titles(await world.ok("tasks.list")) == [plain]
    await world.ok("tasks.done", title=title)
    assert titles(await world.ok("tasks.list", column="done")) == [plain]
    await world.ok("tasks.remove", title=title)
    assert list(world.board.iterdir()) == []


@pytest.mark.parametrize("title", ["   ", "\n\n", "\u200b", "\x00\x01"])
async def test_a_title_without_anything_to_see_is_refused(world: Any, title: str) -> None:
    assert (await world.refused("tasks.add", title=title)).text == "What is the task?"


@pytest.mark.parametrize("due", ["someday", "2026-13-01", "24.12.2026", "2026-02-30", "every day"])
async def test_a_due_date_that_is_none_is_refused(world: Any, due: str) -> None:
    assert (await world.refused("tasks.add", title="x", due=due)).error == "invalid"


def test_every_title_has_a_file_name() -> None:
    for title in ODD:
        assert slug(title, "task")
        assert set(slug(title, "task")) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


# ── edited by hand ─────────────────────────────────────────────────────────────────────────────────


async def test_what_people_wrote_is_kept_to_the_byte_when_a_task_moves(world: Any) -> None:
    text = (
        "---\n# ours\ntitle: Paint the fence\ncolor:   green   # not blue\ncolumn: todo # for now\n"
        "tags:\n  - garden\n  - summer\npriority: low\n---\n\nAsk *Tom* first.\n\n---\n\ncolumn: not this one\n"
    )
    file = write(world, "fence.md", text)
    await world.ok("tasks.move", title="paint the fence", column="doing")
    assert file.read_text() == text.replace("column: todo # for now", "column: doing")


async def test_windows_line_ends_are_kept(world: Any) -> None:
    file = write(world, "w.md", "---\r\ntitle: W\r\ncolumn: todo\r\n---\r\nbody\r\n")
    await world.ok("tasks.done", title="W")
    assert file.read_bytes() == b"---\r\ntitle: W\r\ncolumn: done\r\n---\r\nbody\r\n"


async def test_a_plain_note_dropped_into_the_folder_is_a_task(world: Any) -> None:
    file = write(world, "call-grandma.md", "She likes Sundays.\n")
    assert titles(await world.ok("tasks.list")) == ["call grandma"]
    await world.ok("tasks.done", title="call grandma")
    assert file.read_text() == "---\ncolumn: done\n---\n\nShe likes Sundays.\n"


async def test_a_heading_is_a_title(world: Any) -> None:
    write(world, "x.md", "---\ncolumn: doing\n---\n# Mend the *roof*\n")
    assert titles(await world.ok("tasks.list")) == ["Mend the *roof*"]


BROKEN = {
    "not yaml": "---\ntitle: [unclosed\n---\n",
    "never ends": "---\ntitle: x\n",
    "a list": "---\n- a\n---\n",
    "an unknown column": "---\ncolumn: someday\n---\n",
    "an unknown priority": "---\npriority: extreme\n---\n",
    "a python object": "---\ntitle: !!python/object/apply:os.system [id]\n---\n",
    "deep": "---\ntitle: " + "[" * 5000 + "\n---\n",
    "endless": "---\ntitle: x\nnote: " + "y" * 20_000 + "\n---\n",
    "a thousand million words": "---\na: &a [x, x]\n"
    + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcde", "bcdef", strict=True))
    + "column: *f\n---\n",
    "a column without end": f"---\ncolumn: {'y' * 10_000}\n---\n",
    "tabs": "---\ntitle:\tx\n\tcolumn: y\n---\n",
    "an impossible date": "---\ndue: 2026-02-31\n---\n",
}


@pytest.mark.parametrize("case", BROKEN)
async def test_one_broken_file_is_reported_and_hides_no_other(world: Any, case: str) -> None:
    await world.ok("tasks.add", title="Buy milk")
    write(world, "broken.md", BROKEN[case])
    answer = await world.ok("tasks.list")
    assert titles(answer) == ["Buy milk"]
    assert [problem["file"] for problem in answer.data["problems"]] == ["broken.md"]
    assert answer.text.startswith("You have 1 task: Buy milk. I could not read broken.md: ")
    assert len(answer.text) < 300, "nobody listens to more"
    await world.ok("tasks.done", title="Buy milk")
    assert (world.board / "broken.md").read_text() == BROKEN[case]


async def test_files_that_are_no_text_or_too_large_are_reported(world: Any) -> None:
    world.board.mkdir(parents=True)
    (world.board / "latin.md").write_bytes(b"---\ntitle: caf\xe9\n---\n")
    (world.board / "huge.md").write_bytes(b"x" * 300_000)
    (world.board / "photo.png").write_bytes(b"\x89PNG")
    problems = (await world.ok("tasks.list")).data["problems"]
    assert [problem["file"] for problem in problems] == ["huge.md", "latin.md"]


async def test_links_and_pipes_in_the_folder_are_reported_and_not_followed(world: Any) -> None:
    import os

    world.board.mkdir(parents=True)
    secret = world.data / "secret.md"
    secret.write_text("---\ntitle: the secret\n---\n")
    (world.board / "link.md").symlink_to(secret)
    os.link(secret, world.board / "hard.md")
    os.mkfifo(world.board / "pipe.md")
    answer = await world.ok("tasks.list")
    assert titles(answer) == []
    assert [problem["file"] for problem in answer.data["problems"]] == ["hard.md", "link.md", "pipe.md"]
    assert "secret" not in str(answer.data)


async def test_a_folder_that_became_a_link_is_refused_and_recorded(world: Any) -> None:
    outside = world.data / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("---\ntitle: the secret\n---\n")
    world.board.parent.mkdir(parents=True)
    world.board.symlink_to(outside)
    for tool, arguments in (
        ("tasks.list", {}),
        ("tasks.add", {"title": "y"}),
        ("tasks.remove", {"title": "the secret"}),
    ):
        answer = await world.refused(tool, **arguments)
        assert answer.error == "denied"
        assert "secret" not in answer.text.replace("the secret", "")
        assert world.record[-1]["outcome"] == "denied"
    assert [path.name for path in outside.iterdir()] == ["x.md"]


async def test_a_file_name_that_is_no_text_is_reported_readably(world: Any) -> None:
    world.board.mkdir(parents=True)
    (world.board / b"\xff\xfe.md".decode(errors="surrogateescape")).write_text("x")
    answer = await world.ok("tasks.list")
    answer.text.encode()
    assert len(answer.data["problems"]) == 1


@for_every(
    "text",
    [
        "---\n{title: T, column: todo}\n---\nbody\n",
        "---\ntitle: T\ncolumn: >\n  to\n  do\n---\nbody\n",
        '---\n"column": todo\ntitle: T\n---\nbody\n',
        "---\ntitle: T\ncolumn:\n---\nbody\n",
        "---\ntitle: |\n  column: todo\nx: 1\n---\nbody\n",
        "---\n---\nbody\n",
        "\ufeff---\ntitle: T\n---\nbody\n",
        "body only\n",
        "",
    ],
)
def test_a_value_is_set_however_the_front_matter_is_written(text: str) -> None:
    changed = with_value(text, "column", "done")
    assert front_matter(changed)["column"] == "done"
    assert changed.endswith(text.split("---\n")[-1])


def test_a_fence_inside_the_body_is_body() -> None:
    assert front_matter("text\n---\ncolumn: done\n---\n") == {}
    with pytest.raises(Unreadable):
        front_matter("---\ncolumn: done\n")


async def test_of_two_cards_with_one_title_the_open_one_is_moved(world: Any) -> None:
    await world.ok("tasks.add", title="Buy milk")
    await world.ok("tasks.done", title="Buy milk")
    world.pass_seconds(60)
    await world.ok("tasks.add", title="Buy milk")
    await world.ok("tasks.move", title="Buy milk", column="doing")
    columns = [
        task["column"]
        for column in ("doing", "done")
        for task in (await world.ok("tasks.list", column=column)).data["tasks"]
    ]
    assert columns == ["doing", "done"]
