"""Deletes rows in one transaction, together with the errands that it takes to leave no trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from atlas.store.conversations import Conversation
from atlas.store.recall import TimeSpan, Whose, of

SCRUB = ("scrub", "")
_DEED = "calls <> '[]' AND calls NOT LIKE '%\"name\": \"conversation.%'"  # to search or forget is none


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What is no longer remembered, and whether every trace of it is gone yet."""

    exchanges: int
    deeds: int = 0  # exchanges in which tools were used; what those did stays done
    scrubbed: bool = True  # its bytes are gone from the file
    dropped: bool = True  # the language model's server has dropped what it had read


def forget(
    connection: sqlite3.Connection,
    whose: Whose,
    span: TimeSpan,
    last: int | None = None,
    busy: Iterable[Conversation] = (),
    turn: str | None = None,
) -> Forgotten:
    """Delete turns with all that was said and noted in them; only the `last` so many, or one `turn`, when given.

    `busy` conversations are being read by a model, or were read ahead: it has something to forget in any case.
    """
    chosen, values = of(whose, span)
    turns = connection.execute(
        f"SELECT t.number, c.id, c.agent, c.person, c.room{chosen} AND (:turn IS NULL OR t.id = :turn)"
        " ORDER BY t.number DESC LIMIT :last",
        values | {"last": -1 if last is None else last, "turn": turn},
    ).fetchall()
    numbers = [(number,) for number, *_ in turns]
    touched = {identity: Conversation(*key) for _, identity, *key in turns}
    deeds = sum(
        connection.execute(
            f"SELECT EXISTS (SELECT 1 FROM messages WHERE turn = ? AND {_DEED})",  # noqa: S608  no value is in it
            number,
        ).fetchone()[0]
        for number in numbers
    )
    connection.executemany("DELETE FROM messages WHERE turn = ?", numbers)
    connection.executemany("DELETE FROM turns WHERE number = ?", numbers)
    connection.executemany(
        "DELETE FROM conversations WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM turns WHERE conversation = ?1)",
        [(identity,) for identity in touched],
    )
    errands = {("drop", str(one)) for one in (*touched.values(), *busy)}
    if numbers:
        # The index keeps the words of deleted rows until its parts are merged.
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        errands.add(SCRUB)
    connection.executemany("INSERT OR IGNORE INTO errands (what, conversation) VALUES (?, ?)", sorted(errands))
    return Forgotten(len(numbers), deeds)


def errands(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return what is still to be done for what was forgotten: ("drop", the key of a conversation), at last `SCRUB`."""
    return connection.execute("SELECT what, conversation FROM errands ORDER BY what, conversation").fetchall()


def done(connection: sqlite3.Connection, errand: tuple[str, str]) -> None:
    """Note that an errand has been done."""
    connection.execute("DELETE FROM errands WHERE (what, conversation) = (?, ?)", errand)
