"""Mailboxes by IMAP and letters by SMTP, over streams that were dialled. Blocking: everything here runs in threads.

Reading marks nothing as seen: the mailbox is opened read-only and contents are peeked at (RFC 3501 6.3.2, 6.4.5).
"""

from __future__ import annotations

import imaplib
import re
import smtplib
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tools_server.post.mail_text import Letter, read
from tools_server.reach.outside import Outside, Unreachable
from tools_server.reach.tls import Tls, allowed, context
from tools_server.values.language import text as _

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 15.0  # for each answer of the server
LETTER_BYTES = 1024 * 1024  # of one mail; what lies beyond is attachments, nearly always
_HEADERS = "BODY.PEEK[HEADER.FIELDS (FROM TO REPLY-TO SUBJECT DATE MESSAGE-ID REFERENCES)]"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")  # never the locale's


class MailFailed(Exception):
    """The mail server did not do it; `str()` is a sentence fit for speech."""


class MailGone(MailFailed):
    """There is no such mail."""


class MailServer(BaseModel):
    """Where one of the two servers of an account is."""

    model_config = ConfigDict(extra="forbid")
    host: str
    port: int = Field(ge=1, le=65_535)
    tls: Tls = "implicit"
    authority_file: Path | None = None  # PEM: who vouches for it, when that is the house itself

    @model_validator(mode="after")
    def _guarded(self) -> MailServer:
        if wrong := allowed(self.host, self.tls):
            raise ValueError(wrong)
        return self


class Account(BaseModel):
    """One mailbox, and the agents that may use it."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")
    agents: list[str] = Field(min_length=1)
    address: str = Field(pattern=r"^[!-~]+@[!-~]+$", max_length=254)
    user: str
    password_file: Path
    imap: MailServer | None = None
    smtp: MailServer | None = None
    folder: str = "INBOX"

    def password(self) -> str:
        """Return the secret. Raises `MailFailed`."""
        try:
            secret = self.password_file.read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as missing:
            raise MailFailed(
                _("I cannot read the password of the mail account {name}.").format(name=self.name)
            ) from missing
        if not secret.isprintable():
            raise MailFailed(
                _("The password of the mail account {name} is not one line of text.").format(name=self.name)
            )
        return secret


class Streams:
    """The streams of one piece of work, so that whoever gives it up can end it: a blocked read cannot be cancelled."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._open: list[socket.socket] = []
        self._over = False

    def dial(self, wire: MailServer) -> socket.socket:
        """Return a stream to a server, with TLS when that is how it is spoken to from the first octet."""
        way = self._outside.dial(wire.host, wire.port, CONNECT_SECONDS)
        way.settimeout(ANSWER_SECONDS)
        if wire.tls == "implicit":
            try:
                way = context(wire.authority_file).wrap_socket(way, server_hostname=wire.host)
            except BaseException:
                way.close()
                raise
        self._open.append(way)
        if self._over:
            self.hang_up()
        return way

    def hang_up(self) -> None:
        """End every stream, now and later; reads in other threads return. Idempotent."""
        self._over = True
        for way in self._open:
            with suppress(OSError):
                way.shutdown(socket.SHUT_RDWR)


# ── reading ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class MailEntry:
    """One mail of a mailbox. The number means this mail as long as the mailbox keeps its epoch (RFC 3501 2.3.1.1)."""

    epoch: int
    number: int
    unread: bool
    letter: Letter


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which mails: every condition that is given holds."""

    unread: bool = False
    text: str = ""
    sender: str = ""
    since: date | None = None


class _Imap(imaplib.IMAP4):
    """IMAP over a dialled stream, with a limit on what one answer may hold."""

    def __init__(self, streams: Streams, wire: MailServer) -> None:
        self._streams = streams
        self._wire = wire
        self._left = 2 * LETTER_BYTES
        super().__init__(wire.host, wire.port, ANSWER_SECONDS)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        return self._streams.dial(self._wire)

    def read(self, size: int) -> bytes:
        self._spend(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise self.abort("more than was asked for")

    def allow(self, size: int) -> None:
        """Let this much more come."""
        self._left = size


class Mailbox:
    """An account's mails, open for reading only."""

    def __init__(self, account: Account, imap: _Imap) -> None:
        self._account = account
        self._imap = imap
        status, _rest = imap.select(_quoted(account.folder), readonly=True)
        if status != "OK":
            raise MailFailed(
                _("The mail account {name} has no folder {folder}.").format(name=account.name, folder=account.folder)
            )
        _first, texts = imap.response("UIDVALIDITY")
        self.epoch = int(texts[0]) if texts and texts[0] else 0

    def search(self, wanted: Wanted, most: int) -> tuple[list[MailEntry], int]:
        """Return the newest mails that are wanted, newest first, and how many there are in all."""
        criteria: list[str] = ["UNSEEN"] if wanted.unread else ["ALL"]
        if wanted.since:
            day = wanted.since
            criteria += ["SINCE", f"{day.day:02d}-{_MONTHS[day.month - 1]}-{day.year:04d}"]
        if wanted.sender.isascii() and wanted.sender:
            criteria += ["FROM", _quoted(wanted.sender)]
        if wanted.text.isascii() and wanted.text:
            criteria += ["TEXT", _quoted(wanted.text)]
        # One string may go as a literal, in UTF-8; it is the last.
        for key, text in (("TEXT", wanted.text), ("FROM", wanted.sender)):
            if not text.isascii():
                criteria = ["CHARSET", "UTF-8", *criteria, key]
                self._imap.literal = text.encode()  # type: ignore[assignment]
                break
        self._imap.allow(LETTER_BYTES)
        status, texts = self._imap.uid("SEARCH", *criteria)
        if status != "OK":
            raise MailFailed(_("The mail server cannot search for that."))
        numbers = sorted({int(number) for line in texts if isinstance(line, bytes) for number in line.split()})
        return self._fetched(numbers[: -most - 1 : -1]) if numbers else [], len(numbers)

    def _fetched(self, numbers: Sequence[int]) -> list[MailEntry]:
        self._imap.allow(len(numbers) * 64 * 1024)
        results = {mail.number: mail for mail in self._fetch(",".join(map(str, numbers)), _HEADERS)}
        return [results[number] for number in numbers if number in results]

    def one(self, epoch: int, number: int) -> MailEntry:
        """Return a mail with its text. Raises `MailGone`."""
        if epoch != self.epoch:
            raise MailGone(_("The mailbox was numbered anew since then: list the mails again."))
        self._imap.allow(LETTER_BYTES + 64 * 1024)
        for mail in self._fetch(str(number), f"BODY.PEEK[]<0.{LETTER_BYTES}>"):
            if mail.number == number:
                return mail
        raise MailGone(_("That mail is not there any more."))

    def _fetch(self, numbers: str, what: str) -> Iterator[MailEntry]:
        status, texts = self._imap.uid("FETCH", numbers, f"(UID FLAGS {what})")
        if status != "OK":
            raise MailFailed(_("The mail server did not hand the mail over."))
        head = b""
        for piece, after in zip(texts, [*texts[1:], b""], strict=True):
            if isinstance(piece, tuple):
                head, raw = piece[0], piece[1]
                around = head + (after if isinstance(after, bytes) else b"")  # FLAGS may come behind the octets
                if uid := re.search(rb"\bUID (\d+)", around):
                    yield MailEntry(
                        self.epoch, int(uid[1]), b"\\Seen" not in around, read(raw, whole=len(raw) < LETTER_BYTES)
                    )


@contextmanager
def mailbox(account: Account, streams: Streams) -> Iterator[Mailbox]:
    """Open an account's mailbox. Raises `MailFailed`."""
    if account.imap is None:
        raise MailFailed(_("The mail account {name} is for sending only.").format(name=account.name))
    with _spoken(account, account.imap):
        imap = _Imap(streams, account.imap)
        try:
            if account.imap.tls == "starttls":
                imap.starttls(context(account.imap.authority_file))
            _enter(imap, account)
            yield Mailbox(account, imap)
            imap.logout()
        finally:
            with suppress(OSError):  # logout may have ended it
                imap.shutdown()


def _enter(imap: _Imap, account: Account) -> None:
    secret = account.password()
    try:
        if "AUTH=PLAIN" in imap.capabilities:
            imap.authenticate("PLAIN", lambda _: f"\0{account.user}\0{secret}".encode())
        else:
            imap.login(account.user, secret)
    except (imaplib.IMAP4.abort, OSError):
        raise
    except (imaplib.IMAP4.error, UnicodeError) as refused:
        raise MailFailed(
            _("The mail server does not take my password for {name}.").format(name=account.name)
        ) from refused


def _quoted(text: str) -> str:
    """Return an IMAP quoted string; line breaks, which would end the command, become spaces."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ── sending ────────────────────────────────────────────────────────────────────────────────────────

Step = Literal["talking", "handing over", "taken"]


@dataclass(slots=True)
class SendingProgress:
    """How far a letter has come: after "talking" nobody can say that it has not gone."""

    step: Step = "talking"


class _Smtp(smtplib.SMTP):
    """SMTP over a dialled stream."""

    def __init__(self, streams: Streams, wire: MailServer) -> None:
        self._streams = streams
        self._wire = wire
        # The name of this machine is nobody's business, and finding it out would ask the network.
        super().__init__(wire.host, wire.port, local_hostname="[127.0.0.1]", timeout=ANSWER_SECONDS)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._streams.dial(self._wire)


def hand_over(
    account: Account, letter: EmailMessage, to: Sequence[str], streams: Streams, progress: SendingProgress
) -> None:
    """Hand a letter over, to all of its recipients or to none. Raises `MailFailed`; `progress` says how far it came."""
    if account.smtp is None:
        raise MailFailed(_("The mail account {name} is for reading only.").format(name=account.name))
    octets = letter.as_bytes(policy=SMTP.clone(cte_type="7bit"))
    with _spoken(account, account.smtp):
        smtp = _Smtp(streams, account.smtp)
        try:
            if account.smtp.tls == "starttls":
                smtp.starttls(context=context(account.smtp.authority_file))
            smtp.ehlo_or_helo_if_needed()
            if smtp.has_extn("auth"):
                smtp.login(account.user, account.password())
            _envelope(smtp, account.address, to)
            _data(smtp, octets, progress)
            with suppress(smtplib.SMTPException, OSError):
                smtp.quit()
        finally:
            smtp.close()


def _envelope(smtp: smtplib.SMTP, sender: str, to: Sequence[str]) -> None:
    code, text = smtp.mail(sender)
    if code != 250:
        raise MailFailed(
            _("The mail server takes no mail from {sender}, so nothing was sent. It says: {said}").format(
                sender=sender, said=_said(text)
            )
        )
    for address in to:
        code, text = smtp.rcpt(address)
        if code not in (250, 251):
            raise MailFailed(
                _("The mail server does not take mail for {address}, so nothing was sent. It says: {said}").format(
                    address=address, said=_said(text)
                )
            )


def _data(smtp: smtplib.SMTP, octets: bytes, progress: SendingProgress) -> None:
    smtp.putcmd("data")
    code, text = smtp.getreply()
    if code != 354:
        raise MailFailed(_("The mail server did not take the mail. It says: {said}").format(said=_said(text)))
    progress.step = "handing over"
    smtp.send(re.sub(rb"(?m)^\.", b"..", octets).rstrip(b"\r\n") + b"\r\n.\r\n")
    code, text = smtp.getreply()
    if code != 250:
        progress.step = "talking"
        raise MailFailed(_("The mail server did not take the mail. It says: {said}").format(said=_said(text)))
    progress.step = "taken"


def _said(octets: bytes) -> str:
    text = "".join(c if c.isprintable() else " " for c in octets.decode("utf-8", "replace"))
    return f"{' '.join(text.split())[:200].rstrip('.') or 'nothing'}."


@contextmanager
def _spoken(account: Account, wire: MailServer) -> Iterator[None]:
    """Turn what goes wrong on a wire into a sentence."""
    try:
        yield
    except MailFailed:
        raise
    except Unreachable as nowhere:
        raise MailFailed(str(nowhere)) from nowhere
    except ssl.SSLCertVerificationError as false:
        raise MailFailed(
            _("I do not believe that this is {host}: its certificate is wrong. I told it nothing.").format(
                host=wire.host
            )
        ) from false
    except smtplib.SMTPAuthenticationError as refused:
        raise MailFailed(
            _("The mail server does not take my password for {name}.").format(name=account.name)
        ) from refused
    except TimeoutError as slow:
        raise MailFailed(_("The mail server {host} does not answer.").format(host=wire.host)) from slow
    except (imaplib.IMAP4.error, smtplib.SMTPException, OSError, ValueError) as broken:
        raise MailFailed(_("The talk with the mail server {host} broke off.").format(host=wire.host)) from broken
