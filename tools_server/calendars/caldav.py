"""A calendar server (CalDAV, RFC 4791) seen from here: which calendars, what is in them, and safe writes. Blocking.

Every write names the version that it was made from (If-Match), so that nobody's change is lost; the server refuses
what is older. The password goes to the machine of the address in the settings and to no other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree  # fed by _read only
from xml.sax.saxutils import escape

import httpx2

from tools_server.reach.outside import Unreachable
from tools_server.values.language import text as _

ANSWER_BYTES = 16 * 1024 * 1024  # ten thousand events
AT_ONCE = 50  # events asked for in one request
MOST_CALENDARS = 20
D, C = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}"


class ServerFailed(Exception):
    """A calendar server does not do what it should; `str()` is a sentence fit for speech."""


class Silent(ServerFailed):
    """It gave no answer in time: whether it did what it was asked, nobody knows."""


class Conflict(ServerFailed):
    """What was to be written is there in another version by now."""


@dataclass(frozen=True, slots=True)
class CalendarObject:
    """One event or series on the server."""

    href: str  # its whole address
    etag: str
    text: str


class CalDav:
    """One server, as one account sees it."""

    def __init__(self, client: httpx2.Client, name: str, url: str) -> None:
        """`client` brings the account; `name` is what people call this calendar."""
        self._client = client
        self._name = name
        self._url = url

    def calendars(self) -> list[str]:
        """Return the addresses of the calendars: the one in the settings when it is one, else all of the account."""
        props = "<d:resourcetype/><d:current-user-principal/><c:calendar-home-set/>"
        results = self._properties(self._url, props, depth=0)
        if not results:
            raise ServerFailed(_("There is no calendar where {name} should be.").format(name=self._name))
        if _is_calendar(results[0][1]):
            return [self._url]
        home = self._link(results[0][1], f"{C}calendar-home-set")
        principal = self._link(results[0][1], f"{D}current-user-principal")
        if not home and principal:
            answer = self._properties(principal, "<c:calendar-home-set/>", depth=0)
            home = self._link(answer[0][1], f"{C}calendar-home-set") if answer else ""
        listed = self._properties(home or self._url, "<d:resourcetype/>", depth=1)
        calendars = [href for href, prop in listed if _is_calendar(prop)]
        if not calendars:
            raise ServerFailed(_("{name} has no calendar yet.").format(name=self._name))
        return calendars[:MOST_CALENDARS]

    def etags(self, calendar: str) -> dict[str, str]:
        """Return the version of every event in a calendar, by its address."""
        body = (
            '<c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop><d:getetag/></d:prop>'
            '<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT"/></c:comp-filter></c:filter>'
            "</c:calendar-query>"
        )
        answer = self._ask("REPORT", calendar, body, depth=1)
        return {href: _inner(prop, f"{D}getetag") for href, prop in self._responses(calendar, answer)}

    def items(self, calendar: str, hrefs: Sequence[str]) -> list[CalendarObject]:
        """Return some events whole. Those that are gone by now are left out."""
        items = []
        for first in range(0, len(hrefs), AT_ONCE):
            wanted = "".join(
                f"<d:href>{escape(urlsplit(href).path)}</d:href>" for href in hrefs[first : first + AT_ONCE]
            )
            body = (
                '<c:calendar-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop><d:getetag/>'
                f"<c:calendar-data/></d:prop>{wanted}</c:calendar-multiget>"
            )
            answer = self._ask("REPORT", calendar, body, depth=1)
            for href, prop in self._responses(calendar, answer):
                if text := _inner(prop, f"{C}calendar-data"):
                    items.append(CalendarObject(href, _inner(prop, f"{D}getetag"), text))
        return items

    def create(self, calendar: str, text: str) -> CalendarObject:
        """Write a new event under a name of its own. Raises `Conflict`, `ServerFailed`."""
        href = urljoin(calendar.rstrip("/") + "/", f"atlas-{secrets.token_hex(12)}.ics")
        return self._put(href, text, {"If-None-Match": "*"})

    def replace(self, item: CalendarObject, text: str) -> CalendarObject:
        """Write a new version in place of the one given. Raises `Conflict` when it is not the newest."""
        return self._put(item.href, text, {"If-Match": item.etag})

    def restore(self, href: str, text: str) -> CalendarObject:
        """Write an event again that was removed. Raises `Conflict` when there is one."""
        return self._put(self._here(href), text, {"If-None-Match": "*"})

    def remove(self, item: CalendarObject) -> None:
        """Remove an event, unless it is not the newest version: then raises `Conflict`."""
        self._send("DELETE", item.href, headers={"If-Match": item.etag})

    def _put(self, href: str, text: str, condition: dict[str, str]) -> CalendarObject:
        headers = {"Content-Type": "text/calendar; charset=utf-8", **condition}
        answer = self._send("PUT", href, content=text.encode(), headers=headers)
        # A server that stores it otherwise than it was sent gives no ETag (RFC 4791, 5.3.4): then look.
        if etag := answer.headers.get("ETag", ""):
            return CalendarObject(href, etag, text)
        got = self._send("GET", href)
        return CalendarObject(href, got.headers.get("ETag", ""), got.text)

    # ── the wire ───────────────────────────────────────────────────────────────────────────────────

    def _properties(self, url: str, props: str, depth: int) -> list[tuple[str, ElementTree.Element]]:
        body = (
            f'<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop>{props}</d:prop></d:propfind>'
        )
        return list(self._responses(url, self._ask("PROPFIND", url, body, depth)))

    def _ask(self, method: str, url: str, body: str, depth: int) -> bytes:
        headers = {"Content-Type": "application/xml; charset=utf-8", "Depth": str(depth)}
        return self._send(method, url, content=body.encode(), headers=headers).content

    def _send(
        self, method: str, url: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        try:
            with self._client.stream(method, url, content=content, headers=headers) as answer:
                body = b""
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > ANSWER_BYTES:
                        raise ServerFailed(_("{name} answered with more than I can take.").format(name=self._name))
        except Unreachable as closed:
            raise ServerFailed(
                _("{name} can't be reached: {then}").format(name=self._name, then=_then(str(closed)))
            ) from closed
        except httpx2.TimeoutException as slow:
            raise Silent(_("{name} does not answer.").format(name=self._name)) from slow
        except httpx2.HTTPError as broken:
            if "CERTIFICATE_VERIFY_FAILED" in str(broken):
                raise ServerFailed(
                    _("{name} can't prove who it is, so I don't talk to it.").format(name=self._name)
                ) from broken
            raise ServerFailed(_("{name} can't be reached just now.").format(name=self._name)) from broken
        if answer.status_code in (401, 403):
            raise ServerFailed(_("{name} does not accept my password.").format(name=self._name))
        if answer.status_code == 412:
            raise Conflict(_("Somebody has changed that on {name} just now. Please ask again.").format(name=self._name))
        if answer.status_code in (404, 410):
            raise Conflict(_("That is not on {name} any more.").format(name=self._name))
        if not 200 <= answer.status_code < 300:
            raise ServerFailed(
                _("{name} answered with error {status_code}.").format(name=self._name, status_code=answer.status_code)
            )
        return httpx2.Response(answer.status_code, headers=_plain(answer.headers), content=body)

    def _responses(self, request: str, answer: bytes) -> Iterator[tuple[str, ElementTree.Element]]:
        """Give what a multi-status answer says of each address, where it says that it is well."""
        for response in self._read(answer).iter(f"{D}response"):
            href = _inner(response, f"{D}href")
            for element in response.iter(f"{D}propstat"):
                prop = element.find(f"{D}prop")
                if href and prop is not None and " 200" in _inner(element, f"{D}status"):
                    yield self._here(urljoin(request, href)), prop

    def _read(self, answer: bytes) -> ElementTree.Element:
        if b"<!" in answer.replace(b"<![CDATA[", b"").replace(b"<!--", b""):  # entities that grow without end
            raise ServerFailed(_("{name} gave an answer that I don't trust.").format(name=self._name))
        try:
            return ElementTree.fromstring(answer)  # noqa: S314  # there is no document type in it
        except ElementTree.ParseError as broken:
            raise ServerFailed(_("{name} gave an answer that I don't understand.").format(name=self._name)) from broken

    def _here(self, url: str) -> str:
        """Return an address if it is on the machine of the settings: the password goes nowhere else."""
        ours, theirs = urlsplit(self._url), urlsplit(url)
        if (ours.scheme, ours.hostname, ours.port) != (theirs.scheme, theirs.hostname, theirs.port):
            raise ServerFailed(
                _("{name} sends me to another machine, {hostname}, so I don't go there.").format(
                    name=self._name, hostname=theirs.hostname
                )
            )
        return url

    def _link(self, prop: ElementTree.Element, name: str) -> str:
        element = prop.find(f"{name}/{D}href")
        return self._here(urljoin(self._url, element.text.strip())) if element is not None and element.text else ""


def _is_calendar(prop: ElementTree.Element) -> bool:
    return prop.find(f"{D}resourcetype/{C}calendar") is not None


def _inner(element: ElementTree.Element, name: str) -> str:
    node = element.find(name)
    return (node.text or "").strip() if node is not None else ""


def _then(sentence: str) -> str:
    """Return a sentence as it goes on behind a colon."""
    return sentence if sentence.startswith("I ") else sentence[:1].lower() + sentence[1:]


def _plain(headers: httpx2.Headers) -> dict[str, str]:
    """Return the headers that matter of a body that has been read: it is neither packed nor in chunks any more."""
    return {name: value for name, value in headers.items() if name in ("etag", "content-type")}
