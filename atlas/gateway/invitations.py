"""Letting devices in: invitations that an owner makes and that whoever has their secret takes up, once.

Three kinds, by how their secret travels. A *link* carries 128 random bits and is good for five minutes. *Six digits*
are typed, for screens and satellites: only one such invitation is open at a time, for two minutes, and is closed after
five wrong tries, so that guessing succeeds five times in a million. The *setup code* stands on the console of a house
that nobody has claimed; ten wrong tries close it until the next start, and any owner who comes in otherwise ends it.
Role, person and room are fixed when the invitation is made, and no request says another, nor another name but for the
first owner's device, which nobody could name before. It ends with the token of the owner who made it. All of it is kept
in memory alone, by a clock that nobody can set.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from atlas.errors import AtlasError, RequestError
from atlas.store.devices import DeviceStore
from wall.roles import Role, may

LINK_SECONDS, DIGITS_SECONDS = 300.0, 120.0
DIGITS_TRIES, SETUP_TRIES = 5, 10
MOST_LINKS = 16  # open at once
ALPHABET = "ABCDEFGHJKMNPQRSTVWXYZ23456789"  # nothing that is easily taken for something else
SETUP_CHARACTERS = 8  # 39 bits, and ten tries
DIGITS = 6
LONGEST_SECRET = 64
SHORTEST_LINK = 20  # no code that people type is as long
NOT_OPEN, WRONG_CODE = "invalid_pairing", "wrong_code"  # the codes of these errors


@dataclass(slots=True)
class Invitation:
    """One device that may come in, once."""

    name: str
    role: Role
    person: str = ""
    room: str = ""
    hours: float | None = None  # how long it may stay
    same_person: bool = False  # is it one whom the house knows already?
    secret: str = field(default="", repr=False)
    expires: float = float("inf")  # on the clock of `Pairings`
    tries: int = 0  # how many wrong ones are left; only what can be guessed counts them
    inviter: str = field(default="", repr=False)  # the token of the owner who made it, without whom it ends

    def called(self, wish: str) -> str:
        """Return the device's name: of the first owner's, whom nobody invited, as they wish. Raises `RequestError`."""
        if wish and self.inviter:
            raise RequestError("whoever invites a device names it", code="invalid_name", param="name")
        return wish or self.name


@dataclass(frozen=True, slots=True)
class PairedDevice:
    """A device that came in."""

    name: str
    role: Role
    token: str = field(repr=False)


def new_setup_code() -> str:
    """Return a code to claim a house with."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(SETUP_CHARACTERS))
    return f"{code[:4]}-{code[4:]}"


class Pairings:
    """The invitations that are open."""

    def __init__(self, devices: DeviceStore, setup_code: str = "", now: Callable[[], float] = time.monotonic) -> None:
        self._devices, self._now = devices, now
        self._links: list[Invitation] = []
        self._digits: Invitation | None = None
        self._setup: Invitation | None = None
        if setup_code:
            self._setup = Invitation("first owner", "owner", secret=_plain(setup_code), tries=SETUP_TRIES)

    def invite(self, wanted: Invitation, *, digits: bool) -> Invitation:
        """Open an invitation and return it with its secret; six digits take the place of the ones before.

        Raises `RequestError` when too many are open.
        """
        self._forget_old()
        if digits:
            wanted.secret = f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
            wanted.expires, wanted.tries = self._now() + DIGITS_SECONDS, DIGITS_TRIES
            self._digits = wanted
            return wanted
        if len(self._links) >= MOST_LINKS:
            raise RequestError(
                f"{MOST_LINKS} invitations are open already", code="rate_limit_exceeded", hint="wait five minutes"
            )
        wanted.secret, wanted.expires = secrets.token_urlsafe(16), self._now() + LINK_SECONDS
        self._links.append(wanted)
        return wanted

    def seconds_left(self, invitation: Invitation) -> float:
        """Return how long an invitation is still open."""
        return invitation.expires - self._now()

    async def take_up(self, secret: str, name: str = "") -> PairedDevice:
        """Let in whoever has the secret of an open invitation, which is closed by that; for `name` see `called`.

        Raises `RequestError` for any other secret, without saying which kind was nearly right: `wrong_code` while a
        code that people type is open, whose tries are counted, else `invalid_pairing`.
        It is closed before anything is waited for, so of two who come at once one is let in. What the store refuses
        opens it again.
        """
        invitation = self._closed_by(secret)
        if invitation is None:
            raise self._refusal(secret)
        try:
            if not await self._is_vouched_for(invitation):
                raise _not_open()
            name = invitation.called(name)
            token = await self._devices.create(
                name,
                invitation.role,
                invitation.person,
                invitation.room,
                invitation.hours,
                same_person=invitation.same_person,
            )
        except RequestError as refused:
            if refused.code != NOT_OPEN:
                self._reopen(invitation)
            raise
        except AtlasError:
            self._reopen(invitation)
            raise
        return PairedDevice(name, invitation.role, token)

    def look(self, secret: str) -> Invitation:
        """Return the invitation that a secret would take up, and leave it open.

        A wrong secret costs a try, and raises `RequestError`, as `take_up` has it.
        """
        invitation = self._closed_by(secret)
        if invitation is None:
            raise self._refusal(secret)
        self._reopen(invitation)
        return invitation

    async def _is_vouched_for(self, invitation: Invitation) -> bool:
        """Tell whether who made it is an owner still; the setup code counts until the first owner has come in."""
        if not invitation.inviter:
            return not await self._devices.is_claimed()
        inviter = await self._devices.find(invitation.inviter)
        return inviter is not None and may(inviter.role, "manage")

    def _closed_by(self, secret: str) -> Invitation | None:
        self._forget_old()
        if len(secret) > LONGEST_SECRET or not secret.isascii():
            return None
        for link in self._links:
            if hmac.compare_digest(link.secret, secret):
                self._links.remove(link)
                return link
        typed = _plain(secret)
        if len(typed) == DIGITS and typed.isdecimal() and self._digits:
            self._digits, taken = _tried(self._digits, typed)
            return taken
        if len(typed) == SETUP_CHARACTERS and self._setup:
            self._setup, taken = _tried(self._setup, typed)
            return taken
        return None

    def _refusal(self, secret: str) -> RequestError:
        """Return what whoever sent a secret is told: only one that was typed can have been mistyped."""
        length = len(_plain(secret))
        if length >= SHORTEST_LINK or not (self._digits or self._setup):
            return _not_open()
        tried = {DIGITS: self._digits, SETUP_CHARACTERS: self._setup}.get(length)
        return RequestError(
            "that code is not right",
            code=WRONG_CODE,
            hint="compare it with what is shown; after a few wrong tries it closes",
            details={"tries": tried.tries} if tried else {},
        )

    def _reopen(self, invitation: Invitation) -> None:
        if invitation.tries == 0:
            self._links.append(invitation)
        elif len(invitation.secret) == DIGITS:
            self._digits = self._digits or invitation
        else:
            self._setup = invitation

    def _forget_old(self) -> None:
        now = self._now()
        self._links = [link for link in self._links if link.expires > now]
        if self._digits and self._digits.expires <= now:
            self._digits = None


def _not_open() -> RequestError:
    return RequestError(
        "this invitation is not open: it was used, it is over, or it was mistyped too often",
        code=NOT_OPEN,
        hint="ask for a new one",
    )


def _tried(invitation: Invitation, typed: str) -> tuple[Invitation | None, Invitation | None]:
    """Return what stays open after a try, and what the try closed rightly."""
    if hmac.compare_digest(invitation.secret, typed):
        return None, invitation
    invitation.tries -= 1
    return (invitation if invitation.tries > 0 else None), None


def _plain(code: str) -> str:
    """Return a code as it is compared: people put spaces and hyphens where they like."""
    return "".join(code.split()).replace("-", "").upper()
