"""How each file came to its shape: named steps, each run once, never edited after they have been released."""

from __future__ import annotations

from collections.abc import Sequence

Migrations = Sequence[tuple[str, Sequence[str]]]  # (name, statements), oldest first

# One agent's memory. family and work have a file each, of this shape, and neither ever sees the other's.
MEMORY: Migrations = (
    (
        "conversations, their messages, and turns",
        (
            """CREATE TABLE conversations (
                id INTEGER PRIMARY KEY,
                agent TEXT NOT NULL,
                person TEXT NOT NULL,  -- '' when the house does not know who speaks
                room TEXT NOT NULL,
                UNIQUE (agent, person, room)
            ) STRICT""",
            """CREATE TABLE turns (
                number INTEGER PRIMARY KEY,  -- the order in which turns began to be answered
                id TEXT NOT NULL UNIQUE,
                conversation INTEGER REFERENCES conversations,  -- NULL when the client keeps it itself
                agent TEXT NOT NULL,
                reason TEXT NOT NULL,  -- why the router chose this agent
                path TEXT NOT NULL,
                device TEXT NOT NULL,
                spoken INTEGER NOT NULL,
                began REAL NOT NULL,  -- wall clock, seconds since 1970
                ended REAL NOT NULL,
                end TEXT NOT NULL,
                error TEXT NOT NULL,
                timings TEXT NOT NULL,  -- JSON, milliseconds by stage
                prompt_tokens INTEGER NOT NULL,
                cached_tokens INTEGER NOT NULL,
                completion_tokens INTEGER NOT NULL
            ) STRICT""",
            "CREATE INDEX turns_of_a_conversation ON turns (conversation, number)",
            """CREATE TABLE messages (
                id INTEGER PRIMARY KEY,
                turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
                author TEXT NOT NULL,
                text TEXT NOT NULL,
                calls TEXT NOT NULL,  -- JSON: [{"id", "name", "arguments"}]
                call_id TEXT NOT NULL
            ) STRICT""",
            "CREATE INDEX messages_of_a_turn ON messages (turn, id)",
        ),
    ),
    (
        "words to be searched for, and what is still to be forgotten",
        (
            # What people and agents said; what tools answered is for the model alone.
            "CREATE VIEW said AS SELECT id, text FROM messages WHERE author IN ('user', 'assistant')",
            """CREATE VIRTUAL TABLE words USING fts5(
                text, content = 'said', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
            )""",
            """CREATE TRIGGER said_anew AFTER INSERT ON messages WHEN new.author IN ('user', 'assistant') BEGIN
                INSERT INTO words (rowid, text) VALUES (new.id, new.text);
            END""",
            """CREATE TRIGGER said_otherwise AFTER UPDATE ON messages WHEN new.author IN ('user', 'assistant') BEGIN
                INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
                INSERT INTO words (rowid, text) VALUES (new.id, new.text);
            END""",
            """CREATE TRIGGER unsaid AFTER DELETE ON messages WHEN old.author IN ('user', 'assistant') BEGIN
                INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
            END""",
            "INSERT INTO words (words) VALUES ('rebuild')",  # what was said before there was an index
            # Written with the deletion itself, so that a power cut in between leaves no half-forgotten words.
            """CREATE TABLE errands (
                what TEXT NOT NULL,  -- 'scrub' this file, or 'drop' a conversation from the model's memory
                conversation TEXT NOT NULL,  -- its key; '' for the file
                PRIMARY KEY (what, conversation)
            ) STRICT, WITHOUT ROWID""",
        ),
    ),
    (
        "whose answers may repeat words of others",
        (
            "ALTER TABLE turns ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0",
            # Those in which such words were read (their results are marked), and what a model answered after them.
            """WITH given (conversation, first) AS (
                SELECT conversation, min(number) FROM turns JOIN messages ON turn = number
                WHERE author = 'tool' AND messages.text LIKE '%"untrusted": true%' GROUP BY conversation
            )
            UPDATE turns SET tainted = 1 FROM given
            WHERE turns.conversation = given.conversation AND number >= first AND (path = 'model' OR number IN (
                SELECT turn FROM messages WHERE author = 'tool' AND messages.text LIKE '%"untrusted": true%'
            ))""",
        ),
    ),
    (
        "how a turn was heard, and what its calls came to",
        (
            "ALTER TABLE turns ADD COLUMN readings TEXT NOT NULL DEFAULT ''",  # JSON; '' when it was typed
            "ALTER TABLE turns ADD COLUMN deeds TEXT NOT NULL DEFAULT '[]'",  # JSON
        ),
    ),
)
