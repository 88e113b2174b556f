"""Who may come in: one token per device, stored as a hash, with a role, a person, a room, and a way to revoke it."""

from __future__ import annotations

import hashlib
import re
import secrets
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from atlas.conversation import Actor, fresh_id
from atlas.errors import RequestError, StoreError
from atlas.store.database import Database, open_database
from atlas.store.migrations import Migrations
from wall.patterns import plain
from wall.roles import NOBODY, ROLES, Role, may

FILE = "devices.db"  # in the data directory; `atlas token` writes it while the house runs
TOKEN = re.compile(r"atlas_[A-Za-z0-9_-]{32}")  # 192 random bits: nobody guesses one
NAME_CHARACTERS = 40  # of a device: "Grandmother's kitchen tablet" fits
ROOM = re.compile(r"[^\W_](?:[\w .'’-]{0,38}[\w.])?")
PERSON = re.compile(r"[^\W\d_](?:[\w .'’-]{0,38}[\w.])?")
TERMINAL = "owner"  # the device that the terminal is
TERMINAL_TALK = "terminal"  # by which its talk goes, apart from a browser's with the same token
GUEST_HOURS = 72  # how long a guest may stay when nobody says
MOST_HOURS = 24 * 366
SLOW_CLOCK_SECONDS = 300.0  # how far a clock may be set back before tokens with an end are not believed any more
USED_SECONDS = 60.0  # how exactly `last used` is kept: a write for every request would wear out a memory card

DEVICES: Migrations = (
    (
        "devices",
        (
            """CREATE TABLE devices (
                name TEXT PRIMARY KEY COLLATE NOCASE,
                role TEXT NOT NULL,
                token_sha256 TEXT NOT NULL UNIQUE,
                created REAL NOT NULL,  -- wall clock, seconds since 1970
                used REAL  -- NULL until the first time
            ) STRICT, WITHOUT ROWID""",
        ),
    ),
    ("whose a device is", ("ALTER TABLE devices ADD COLUMN person TEXT NOT NULL DEFAULT ''",)),  # '': several people's
    ("where a device is", ("ALTER TABLE devices ADD COLUMN room TEXT NOT NULL DEFAULT ''",)),  # '': it is carried about
    (
        "until when a device may come in",
        (
            "ALTER TABLE devices ADD COLUMN expires REAL",  # wall clock; NULL: until it is taken back
            "UPDATE devices SET expires = unixepoch() + 72 * 3600 WHERE role = 'guest'",  # as long as a new one stays
        ),
    ),
    (
        "where a device is told that something waits",
        (
            # One a device, and it ends with the device's token, whoever takes that back and however.
            """CREATE TABLE push_subscriptions (
                device TEXT PRIMARY KEY COLLATE NOCASE,
                endpoint TEXT NOT NULL,
                public BLOB NOT NULL,
                auth BLOB NOT NULL,
                language TEXT NOT NULL,
                created REAL NOT NULL  -- wall clock, seconds since 1970
            ) STRICT, WITHOUT ROWID""",
            """CREATE TRIGGER push_ends_with_its_token AFTER DELETE ON devices
                BEGIN DELETE FROM push_subscriptions WHERE device = OLD.name; END""",
        ),
    ),
    (
        "who was ever known by name",  # and may have left words behind, though no device is theirs any more
        (
            "CREATE TABLE people (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID",
            "INSERT OR IGNORE INTO people SELECT person FROM devices WHERE person != ''",
        ),
    ),
    (
        "which device it is",  # for a name comes back. What older ones said and did stands under their names
        (
            "ALTER TABLE devices ADD COLUMN id TEXT NOT NULL DEFAULT ''",
            "UPDATE devices SET id = name",
            "CREATE TABLE gone_devices (id TEXT PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE) STRICT, WITHOUT ROWID",
            """CREATE TRIGGER what_is_left_of_a_device_has_a_name AFTER DELETE ON devices
                BEGIN INSERT OR IGNORE INTO gone_devices VALUES (OLD.id, OLD.name); END""",
        ),
    ),
    (
        "what a device was called before",  # what it said and did then stands under that name
        (
            """CREATE TABLE former_names (
                id TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY (id, name)
            ) STRICT, WITHOUT ROWID""",
            "INSERT INTO former_names SELECT id, name FROM gone_devices",
            "DROP TRIGGER what_is_left_of_a_device_has_a_name",
            "DROP TABLE gone_devices",
            """CREATE TRIGGER what_is_left_of_a_device_has_a_name AFTER DELETE ON devices
                BEGIN INSERT OR IGNORE INTO former_names VALUES (OLD.id, OLD.name); END""",
            """CREATE TRIGGER what_is_a_devices_follows_its_name AFTER UPDATE OF name ON devices BEGIN
                INSERT OR IGNORE INTO former_names VALUES (OLD.id, OLD.name);
                UPDATE push_subscriptions SET device = NEW.name WHERE device = OLD.name;
            END""",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class TokenDevice:
    """One row: a name, its standing, who alone uses it, and its room. The token itself is stored nowhere."""

    name: str
    role: Role
    created: float
    used: float | None
    person: str = ""  # "" when several people do
    room: str = ""  # "" when it is carried about
    expires: float | None = None  # None: until it is taken back. A guest's token always ends
    id: str = ""  # its own for ever; its name may change, and be another's then


@dataclass(frozen=True, slots=True)
class PushSubscription:
    """Where a browser is told that something waits, and the keys by which only it can read that."""

    endpoint: str
    public: bytes
    auth: bytes
    language: str
    created: float = 0.0


class DeviceStore:
    """The devices that hold a token. Every verb raises `StoreError` when the file fails, and is safe to cancel."""

    def __init__(self, database: Database, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now
        self._shut_out: set[str] = set()  # ids of devices that could not be taken out of a file that takes no change

    async def create(
        self,
        name: str,
        role: str,
        person: str = "",
        room: str = "",
        hours: float | None = None,
        *,
        same_person: bool = False,
    ) -> str:
        """Let a device in and return its token, which nobody can read again.

        Whoever speaks through the device of a `person` is taken for them: what they ask to be remembered is theirs, and
        so is what they ever said. Where the house has known somebody of this name before, it therefore has to be said
        that it is the `same_person`.
        Its room is where it stands; no request says another. It ends after `hours`, a guest's after `GUEST_HOURS` when
        nobody says. Raises `RequestError` for a name that is taken, for a person who is known already and not said to
        be the same, for a name, person or room that is odd, and for a role that there is none of.
        """
        check_device(name, role, person, room)
        hours = GUEST_HOURS if role == NOBODY and hours is None else hours
        if hours is not None and not 0 < hours <= MOST_HOURS:
            raise RequestError(
                f"no token lasts {hours:g} hours",
                code="invalid_hours",
                param="hours",
                hint=f"use up to {MOST_HOURS} hours",
            )
        token = f"atlas_{secrets.token_urlsafe(24)}"
        now = self._now()
        expires = None if hours is None else now + hours * 3600

        def insert(connection: sqlite3.Connection) -> None:
            _refuse_taken(connection, name)
            whose = _person_of(connection, person, same_person)
            row = (name, role, _hash(token), now, whose, room, expires, fresh_id("device"))
            connection.execute(
                "INSERT INTO devices (name, role, token_sha256, created, person, room, expires, id)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

        await self._database.write(insert)
        return token

    async def find(self, token: str) -> Actor | None:
        """Return who holds this token now; `None` when nobody does, or no longer.

        What has ended is taken away, so that no clock that is set back brings it to life again; and while the clock
        stands before the day on which a token with an end was made, nobody knows whether it has ended.
        """
        if not TOKEN.fullmatch(token):
            return None
        digest = _hash(token)
        rows = await self._database.rows(
            "SELECT name, role, used, person, room, created, expires, id FROM devices WHERE token_sha256 = ?", digest
        )
        if not rows:
            return None
        name, role, used, person, room, created, expires, device_id = rows[0]
        now = self._now()
        if device_id in self._shut_out or (expires is not None and now >= expires):
            with suppress(StoreError):  # a full disk keeps nobody in
                await self._database.change("DELETE FROM devices WHERE token_sha256 = ?", digest)
            return None
        if expires is not None and now < max(created, used or 0) - SLOW_CLOCK_SECONDS:
            return None
        if used is None or now - used > USED_SECONDS:
            with suppress(StoreError):  # a full disk locks nobody out
                await self._database.change("UPDATE devices SET used = ? WHERE token_sha256 = ?", now, digest)
        return Actor(person, device=name, role=role, room=room, device_id=device_id)

    async def gone(self, actor: Actor) -> bool:
        """Tell whether what somebody asked through holds a token no longer. A device that never had one is not gone."""
        if not actor.device_id:
            return False
        if actor.device_id in self._shut_out:
            return True
        held = "SELECT 1 FROM devices WHERE id = ? AND (expires IS NULL OR expires > ?)"
        return not await self._database.rows(held, actor.device_id, self._now())

    async def ids_of(self, name: str) -> Sequence[str]:
        """Return which devices have or had this name: an owner reads and takes away what is left of them.

        One that has another name now is meant by that alone, once a device has its old one.
        """
        query = """SELECT id FROM devices WHERE name = ?1
            UNION SELECT id FROM former_names WHERE name = ?1
            AND (id NOT IN (SELECT id FROM devices) OR NOT EXISTS (SELECT 1 FROM devices WHERE name = ?1))"""
        return [device_id for (device_id,) in await self._database.rows(query, name)]

    async def list(self) -> tuple[TokenDevice, ...]:
        """Return every device, in the order of their names."""
        rows = await self._database.rows(
            "SELECT name, role, created, used, person, room, expires, id FROM devices ORDER BY name"
        )
        return tuple(TokenDevice(*row) for row in rows)

    async def residents(self) -> tuple[str, ...]:
        """Return the people who have a device of their own, but for guests, in the order of their names."""
        people = {one.person for one in await self.list() if one.person and may(one.role, "reside")}
        return tuple(sorted(people))

    async def rooms(self) -> tuple[str, ...]:
        """Return the rooms in which a device stands, but for those of guests, in the order of their names."""
        return tuple(sorted({one.room for one in await self.list() if one.room and may(one.role, "reside")}))

    async def is_claimed(self) -> bool:
        """Tell whether an owner has come in, besides the terminal of the house's own machine."""
        return any(may(one.role, "manage") and one.name != TERMINAL for one in await self.list())

    async def change(
        self,
        name: str,
        *,
        new_name: str | None = None,
        room: str | None = None,
        person: str | None = None,
        same_person: bool = False,
    ) -> bool:
        """Give a device another name, or say in which room it stands and whose alone it is, "" for none and nobody.

        That holds from its next connection on; what is `None` stays. Under another name it is the same device, with
        all that goes by its id. False when there is none such. Raises `RequestError`, and then nothing is changed, for
        an odd name of a device, a room or a person, for one that another device has, and for a person who is known
        already and not said to be the `same_person`: what they ever said is then theirs who has this device.
        """
        if new_name is not None:
            _check_name(new_name)
        _check_room(room or "")
        _check_person(person or "")

        def write(connection: sqlite3.Connection) -> bool:
            row = connection.execute("SELECT name, person, room FROM devices WHERE name = ?", (name,)).fetchone()
            if row is None:
                return False
            called, whose, where = row
            if new_name is not None:
                _refuse_rename(connection, called, new_name)
            if person is not None:
                whose = _person_of(connection, person, same_person or whose.casefold() == person.casefold())
            where = where if room is None else room
            values = (new_name or called, whose, where, called)
            connection.execute("UPDATE devices SET name = ?, person = ?, room = ? WHERE name = ?", values)
            return True

        return await self._database.write(write)

    async def check_rename(self, name: str, new_name: str) -> None:
        """Raise `RequestError` where a device may not get a name."""
        _check_name(new_name)
        await self._database.read(lambda connection: _refuse_rename(connection, name, new_name))

    async def check_person(self, person: str, *, same_person: bool) -> None:
        """Raise `RequestError` for a person who is known already and not said to be the same; for an invitation."""
        names = await self._database.read(lambda connection: _known_names(connection, person))
        if names and not same_person:
            raise _known_already(names[0])

    async def revoke(self, name: str) -> bool:
        """Take a device's token back, at once; False when no device has this name.

        Where that cannot be written, on a full disk, it counts no more while this is open, and `StoreError` says so.
        """
        try:
            return await self._database.change("DELETE FROM devices WHERE name = ?", name) == 1
        except StoreError as trouble:
            rows = await self._database.rows("SELECT id FROM devices WHERE name = ?", name)
            self._shut_out.update(device_id for (device_id,) in rows)
            again = "take it back once more: it is let in no more, but only until the house is started anew"
            raise StoreError(str(trouble), hint=", then ".join(filter(None, (trouble.hint, again)))) from trouble

    async def subscribe(self, name: str, subscription: PushSubscription) -> bool:
        """Store where a device is told that something waits, in place of what it had; False without such a device."""
        row = (subscription.endpoint, subscription.public, subscription.auth, subscription.language, self._now(), name)
        insert = (
            "INSERT OR REPLACE INTO push_subscriptions (endpoint, public, auth, language, created, device)"
            " SELECT ?, ?, ?, ?, ?, name FROM devices WHERE name = ?"
        )
        return await self._database.change(insert, *row) == 1

    async def unsubscribe(self, name: str, endpoint: str = "") -> bool:
        """Tell a device nothing any more, at all or at one address; False when there was nothing such."""
        delete = "DELETE FROM push_subscriptions WHERE device = ? AND ? IN ('', endpoint)"
        return await self._database.change(delete, name, endpoint) == 1

    async def subscriptions(self) -> Mapping[str, tuple[Actor, PushSubscription]]:
        """Return who is told that something waits, and where, by device; nobody whose token has ended."""
        rows = await self._database.rows(
            "SELECT name, role, person, room, id, endpoint, public, auth, language, push_subscriptions.created"
            " FROM push_subscriptions JOIN devices ON name = device WHERE expires IS NULL OR expires > ?",
            self._now(),
        )
        return {
            name: (Actor(person, device=name, role=role, room=room, device_id=device_id), PushSubscription(*rest))
            for name, role, person, room, device_id, *rest in rows
            if device_id not in self._shut_out
        }


@asynccontextmanager
async def open_devices(data: Path) -> AsyncIterator[DeviceStore]:
    """Open the devices of a data directory; another process may have them open too."""
    async with open_database(data / FILE, DEVICES) as database:
        yield DeviceStore(database)


def check_device(name: str, role: str, person: str, room: str) -> None:
    """Raise `RequestError` for a name, person or room that is odd, and for a role that there is none of."""
    _check_name(name)
    if role not in ROLES:
        hint = f"roles are {', '.join(ROLES)}"
        raise RequestError(f"no role is called {role!r}", code="invalid_role", param="role", hint=hint)
    _check_person(person)
    _check_room(room)


def _check_name(name: str) -> None:
    if not _is_name(name):
        hint = f"use up to {NAME_CHARACTERS} characters with a letter or digit among them, as in Mia's tablet"
        raise RequestError(f"{name!r} cannot be the name of a device", code="invalid_name", param="name", hint=hint)


def _refuse_taken(connection: sqlite3.Connection, name: str) -> None:
    """Raise `RequestError` when a device has this name, or one that people and rules take for the same."""
    if plain(name) in {plain(one) for (one,) in connection.execute("SELECT name FROM devices")}:
        raise RequestError(
            f"a device called {name!r} has a token already",
            code="name_taken",
            param="name",
            hint=f"choose another name, or take that token back first: atlas token revoke {name!r}",
        )


def _refuse_rename(connection: sqlite3.Connection, name: str, new_name: str) -> None:
    if name == TERMINAL != new_name:
        raise RequestError("the house's own terminal cannot be renamed", code="invalid_name", param="name")
    if plain(name) != plain(new_name):
        _refuse_taken(connection, new_name)


def _is_name(name: str) -> bool:
    """Tell whether people could call a device so, and a terminal and an address of the house could repeat it."""
    return (
        len(name) <= NAME_CHARACTERS
        and name.isprintable()  # no second line in a log, and nothing that turns the text around it
        and name == name.strip()
        and not name.startswith("-")  # which a terminal takes for an option
        and any(letter.isalnum() for letter in plain(name))  # ".." in an address is somewhere else
    )


def _known_names(connection: sqlite3.Connection, person: str) -> list[str]:
    """Return how a person's name is written here already: Anna and anna are one."""
    names = connection.execute("SELECT name FROM people").fetchall()
    return [name for (name,) in names if name.casefold() == person.casefold()]


def _person_of(connection: sqlite3.Connection, person: str, same_person: bool) -> str:
    """Return a person's name as it is written here, from now on known. Raises `RequestError`."""
    if not person:
        return ""
    if names := _known_names(connection, person):
        if not same_person:
            raise _known_already(names[0])
        return names[0]
    connection.execute("INSERT INTO people VALUES (?)", (person,))
    return person


def _known_already(person: str) -> RequestError:
    return RequestError(
        f"the house knows somebody called {person}, and this device would read all that they ever said to it",
        code="person_known",
        param="person",
        hint=f"say that it is the same person (--same-person), or name another one, such as {person} B",
    )


def _check_person(person: str) -> None:
    if person and not PERSON.fullmatch(person):
        hint = "use 1 to 40 letters, digits, spaces, dots, dashes or apostrophes, a letter first, as in Anna"
        raise RequestError(
            f"{person!r} cannot be the name of a person", code="invalid_person", param="person", hint=hint
        )


def _check_room(room: str) -> None:
    if room and not ROOM.fullmatch(room):
        hint = "use 1 to 40 letters, digits, spaces, dots, dashes or apostrophes, as in living room"
        raise RequestError(f"{room!r} cannot be the name of a room", code="invalid_room", param="room", hint=hint)


def _hash(token: str) -> str:
    # A plain hash is enough: there is nothing to guess in 192 random bits, so there is nothing to slow down.
    return hashlib.sha256(token.encode()).hexdigest()
