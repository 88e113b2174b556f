"""Mail as it came → what a person would read. Every octet of it is a stranger's. Pure.

Broken MIME, unknown character sets and hidden HTML end as readable text or as nothing, never as an exception.
Attachments are named, not opened.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from html.parser import HTMLParser

from tools_server.values.language import text as _

HEADER_CHARACTERS = 300
TEXT_CHARACTERS = 20_000  # twenty minutes aloud
HTML_BYTES = 128 * 1024  # the parser may take quadratic time over nonsense
MOST_PARTS = 100
MOST_ATTACHMENTS = 20
_BLOCKS = frozenset(
    ("address", "blockquote", "br", "div", "dd", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p")
) | {"pre", "table", "td", "th", "tr", "ul"}
_UNSEEN = frozenset(("head", "noscript", "object", "script", "select", "style", "svg", "template", "textarea", "title"))
_VOID = frozenset(("area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d]*[1-9])")


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something that came with a mail and stays closed."""

    name: str
    type: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Letter:
    """One mail, read."""

    sender: str  # the name it gives itself, which may be anything
    sender_address: str
    reply_to: str  # an address; where an answer would go
    to: Sequence[str]
    subject: str
    sent_at: datetime | None
    message_id: str
    references: Sequence[str]
    text: str = ""
    attachments: Sequence[Attachment] = ()
    cut: bool = False  # there is more text than is here


def read(raw: bytes, *, whole: bool) -> Letter:
    """Return the mail in these octets; `whole` tells whether they are all of it."""
    try:
        message = message_from_bytes(raw)
        text, attachments = _contents(message)
    except RecursionError:  # a mail in a mail in a mail, a thousand times
        message, text, attachments = message_from_bytes(raw.split(b"\r\n\r\n", 1)[0]), "", []
    senders = _addresses(message, "From")
    name, address = senders[0] if senders else ("", "")
    replies = _addresses(message, "Reply-To")
    return Letter(
        sender=name or address,
        sender_address=address,
        reply_to=replies[0][1] if replies else address,
        to=[item for _name, item in _addresses(message, "To")][:20],
        subject=_header(message, "Subject"),
        sent_at=_date(message),
        message_id=next(iter(_ids(message, "Message-ID")), ""),
        references=_ids(message, "References")[-20:],
        text=text[:TEXT_CHARACTERS],
        attachments=attachments[:MOST_ATTACHMENTS],
        cut=not whole or len(text) > TEXT_CHARACTERS,
    )


def plain(text: str, most: int, *, lines: bool = False) -> str:
    """Return text without what cannot be seen or turns its order round, at most so many characters of it."""
    remainder = "".join(
        character
        for character in text.replace("\r\n", "\n").replace("\r", "\n")
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    if lines:
        remainder = re.sub(
            r"\n{3,}", "\n\n", "\n".join(" ".join(line.split()) for line in remainder.split("\n"))
        ).strip()
    else:
        remainder = " ".join(remainder.split())
    return remainder if len(remainder) <= most else remainder[: most - 1].rstrip() + "…"


# ── headers ────────────────────────────────────────────────────────────────────────────────────────


def _raw(message: Message, name: str) -> list[str]:
    """Return a header's values before anything was decoded; octets that are no ASCII are taken for UTF-8."""
    return [
        str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")[:8000]
        for key, value in message.raw_items()
        if key.casefold() == name.casefold()
    ]


def _unfolded(text: str) -> str:
    """Return what encoded words say (RFC 2047); "" when they cannot be read."""
    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        return ""


def _header(message: Message, name: str) -> str:
    text = next(iter(_raw(message, name)), "")
    return plain(_unfolded(text) or text, HEADER_CHARACTERS)


def _addresses(message: Message, name: str) -> list[tuple[str, str]]:
    """Return names and addresses. Names are decoded after the addresses are found: a name cannot smuggle one in."""
    return [
        (plain(_unfolded(shown), 80), plain(address, 254).replace(" ", ""))
        for shown, address in getaddresses(_raw(message, name)[:5])
        if "@" in address
    ]


def _ids(message: Message, name: str) -> list[str]:
    return re.findall(r"<[!-;=?-~]{1,250}>", " ".join(_raw(message, name)))


def _date(message: Message) -> datetime | None:
    try:
        sent = parsedate_to_datetime(next(iter(_raw(message, "Date")), ""))
        return (sent if sent.tzinfo else sent.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


# ── contents ───────────────────────────────────────────────────────────────────────────────────────


def _contents(message: Message) -> tuple[str, list[Attachment]]:
    """Return the text, of a plain part before an HTML part, and what else there is."""
    plains: list[str] = []
    pages: list[str] = []
    attachments: list[Attachment] = []
    for part in _leaves(message):
        kind = part.get_content_type()
        name = _file_name(part)
        if kind in ("text/plain", "text/html") and not name and part.get_content_disposition() != "attachment":
            (plains if kind == "text/plain" else pages).append(_decoded(part))
        else:
            attachments.append(Attachment(name or _("without a name"), plain(kind, 80), len(_bytes(part))))
    written = "\n\n".join(plains)
    if not written.strip():
        written = "\n\n".join(html_text(page) for page in pages)
    return plain(written, TEXT_CHARACTERS + 1, lines=True), attachments


def _leaves(message: Message) -> Iterator[Message]:
    """Walk without recursion: how deep it is nested is the sender's choice."""
    left = [message]
    for _part in range(MOST_PARTS):
        if not left:
            return
        part = left.pop()
        # Asking a text for its payload would decode it, by whatever codec it names.
        inside = part.get_payload() if part.is_multipart() else None
        if isinstance(inside, list) and part.get_content_type() != "message/rfc822":
            left += [item for item in reversed(inside) if isinstance(item, Message)]
        else:
            yield part


def _file_name(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except (LookupError, UnicodeError, ValueError, TypeError):
        name = _("without a name")
    name = _unfolded(name) or name
    return plain(name.replace("\\", "/").rpartition("/")[2], 120)


def _bytes(part: Message) -> bytes:
    try:
        result = part.get_payload(decode=True)
    except (ValueError, LookupError):
        return b""
    return result if isinstance(result, bytes) else b""


def _decoded(part: Message) -> str:
    octets = _bytes(part)
    try:
        named = str(part.get_content_charset() or "utf-8")
        return octets.decode(named, "replace")
    except (
        LookupError,
        ValueError,
        TypeError,
        UnicodeError,
    ):  # a character set that nobody knows, or a codec of no text
        return octets.decode("utf-8", "replace")


def html_text(page: str) -> str:
    """Return what a person would see of a page: no scripts, no styles, nothing hidden, no addresses of links."""
    reader = _Page()
    reader.feed(page[:HTML_BYTES])
    reader.close()
    return "".join(reader.seen)


class _Page(HTMLParser):
    """Keeps the text that would be seen."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[str] = []
        self._hidden: list[str] = []  # the open elements since the one that hides

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.seen.append("\n")
        if tag in _VOID:
            return
        given = {name: (value or "").casefold() for name, value in attrs}
        hides = tag in _UNSEEN or "hidden" in given or _HIDDEN.search(given.get("style", ""))
        if self._hidden or hides:
            self._hidden.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        elif tag in _BLOCKS:
            self.seen.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.seen.append(data)
