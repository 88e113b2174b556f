"""Calendar servers: a real Radicale, changed from both sides, gone, slow, or lying."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
import pytest
from pydantic import ValidationError

from tests.certificates import certificate
from tests.conftest import for_every
from tests.processes import free_port
from tests.tools_server.conftest import Straight
from tools_server.calendars import diary
from tools_server.calendars.caldav import CalDav, CalendarObject, Conflict
from tools_server.calendars.diary import CalendarAccount
from tools_server.reach.outside import Outside
from tools_server.tools.calendar import Settings

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=ZoneInfo("Europe/Paris")).timestamp()  # a Friday
MADE = """<?xml version="1.0"?><c:mkcalendar xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"/>"""


class Radicale:
    """The server, and what another program does on it."""

    def __init__(self, folder: Path, certificate: Path | None = None) -> None:
        self.port = free_port()
        (folder / "users").write_text("anna:secret\n")
        settings = {
            "server": {"hosts": f"127.0.0.1:{self.port}", **_tls(certificate)},
            "auth": {"type": "htpasswd", "htpasswd_filename": folder / "users", "htpasswd_encryption": "plain"},
            "storage": {"filesystem_folder": folder / "collections"},
            "logging": {"level": "info"},
        }
        text = "".join(
            f"[{part}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
            for part, values in settings.items()
        )
        (folder / "radicale.ini").write_text(text)
        command = [sys.executable, "-m", "radicale", "--config", str(folder / "radicale.ini")]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE)
        assert self._process.stderr
        while b"Radicale server ready" not in (line := self._process.stderr.readline()):
            assert line, "Radicale did not start"
        self._drained = threading.Thread(target=self._process.stderr.read, daemon=True)
        self._drained.start()
        self.client = httpx2.Client(auth=("anna", "secret"))

    def close(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait(10)
        self._drained.join(10)
        self._process.stderr.close()  # type: ignore[union-attr]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/anna/"

    def make(self) -> str:
        calendar = f"{self.url}{uuid.uuid4()}/"
        self.client.request("MKCALENDAR", calendar, content=MADE).raise_for_status()
        return calendar

    def files(self, calendar: str) -> dict[str, str]:
        dav = CalDav(self.client, "other", calendar)
        return {item.href: item.text for item in dav.items(calendar, list(dav.etags(calendar)))}

    def put(self, calendar: str, *lines: str, name: str = "theirs.ics") -> None:
        inside = ["BEGIN:VEVENT", "DTSTAMP:20260101T000000Z", *lines, "END:VEVENT"]
        text = "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//t//EN", *inside, "END:VCALENDAR", ""])
        self.client.put(calendar + name, content=text.encode()).raise_for_status()


def _tls(certificate: Path | None) -> dict[str, Any]:
    return {"ssl": True, "certificate": certificate, "key": certificate} if certificate else {}


@pytest.fixture(scope="module")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Radicale]:
    server = Radicale(tmp_path_factory.mktemp("radicale"))
    yield server
    server.close()


def server_of(world: Any, url: str, password: str = "secret", agents: tuple[str, ...] = ("family",)) -> CalendarAccount:
    file = world.data / "password"
    file.write_text(f"{password}\n")
    return CalendarAccount(name="Cloud", url=url, user="anna", password_file=file, agents=list(agents))


def connect(world: Any, *servers: CalendarAccount, outside: Outside | None = None) -> None:
    world.clock[0] = NOW
    world.gate._settings["calendar"] = Settings(servers=list(servers), add_to="Cloud")
    world.gate._outside = outside or Straight()


@pytest.fixture
def calendar(world: Any, radicale: Radicale) -> str:
    """An empty calendar on the server, which the family's is."""
    made = radicale.make()
    connect(world, server_of(world, made))
    return made


def starts(answer: Any) -> list[tuple[str, str]]:
    return [(event["title"], event["start"][:16]) for event in answer.data["events"]]


@pytest.mark.real
async def test_an_event_goes_to_the_server_and_others_see_it(world: Any, radicale: Radicale, calendar: str) -> None:
    phrase = await world.said("calendar.add", title="Dentist", start="tomorrow at 9:30 am")
    assert phrase == "Added Dentist tomorrow at 9:30 AM."
    (text,) = radicale.files(calendar).values()
    assert "SUMMARY:Dentist" in text
    assert await world.said("calendar.list", day="tomorrow") == "You have 1 event tomorrow: Dentist at 9:30 AM."
    await world.ok("calendar.change", title="dentist", start="11 am")
    assert "T110000" in next(iter(radicale.files(calendar).values()))
    await world.ok("calendar.remove", title="dentist")
    assert radicale.files(calendar) == {}


@pytest.mark.real
async def test_what_others_change_is_seen(world: Any, radicale: Radicale, calendar: str) -> None:
    radicale.put(calendar, "UID:1", "SUMMARY:Lunch", "DTSTART:20261121T110000Z", "DURATION:PT1H")
    assert starts(await world.ok("calendar.list", day="tomorrow")) == [("Lunch", "2026-11-21T12:00")]
    radicale.put(calendar, "UID:1", "SUMMARY:Long lunch", "DTSTART:20261121T110000Z", "DURATION:PT3H")
    assert starts(await world.ok("calendar.list", day="tomorrow")) == [("Long lunch", "2026-11-21T12:00")]
    radicale.client.delete(f"{calendar}theirs.ics").raise_for_status()
    assert starts(await world.ok("calendar.list", day="tomorrow")) == []


@pytest.mark.real
async def test_a_series_with_what_we_do_not_know_is_changed_in_one_place(
    world: Any, radicale: Radicale, calendar: str
) -> None:
    radicale.put(
        calendar, "UID:y", "SUMMARY:Yoga", "DTSTART;TZID=Europe/Paris:20261012T190000", "DURATION:PT1H",
        "RRULE:FREQ=WEEKLY", "X-MOOD:calm", "ATTENDEE;PARTSTAT=ACCEPTED:mailto:tom@example.org",
    )  # fmt: skip
    await world.ok("calendar.change", title="yoga", day="2026-11-30", start="8 pm")
    await world.ok("calendar.remove", title="yoga", day="2026-12-07")
    answer = await world.ok("calendar.list", day="2026-11-23", to="2026-12-15")
    assert [start for _, start in starts(answer)] == ["2026-11-23T19:00", "2026-11-30T20:00", "2026-12-14T19:00"]
    (text,) = radicale.files(calendar).values()
    assert "X-MOOD:calm" in text
    assert "PARTSTAT=ACCEPTED" in text
    await world.ok("history.undo")
    answer = await world.ok("calendar.list", day="2026-12-07")
    assert starts(answer) == [("Yoga", "2026-12-07T19:00")]


@pytest.mark.real
async def test_every_change_can_be_taken_back_unless_somebody_was_there_since(
    world: Any, radicale: Radicale, calendar: str
) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-21T09:30")
    await world.ok("calendar.remove", title="dentist")
    await world.ok("history.undo")
    assert starts(await world.ok("calendar.list", day="tomorrow")) == [("Dentist", "2026-11-21T09:30")]
    await world.ok("calendar.change", title="dentist", new_title="Doctor")
    (href, text), *_ = radicale.files(calendar).items()
    radicale.client.put(href, content=text.replace("Doctor", "Doctor Rossi").encode()).raise_for_status()
    refused = await world.refused("history.undo")
    assert refused.text == "Somebody has changed that on Cloud just now. Please ask again."
    assert "Doctor Rossi" in radicale.files(calendar)[href]


@pytest.mark.real
def test_what_was_changed_meanwhile_is_not_overwritten(radicale: Radicale) -> None:
    calendar = radicale.make()
    dav = CalDav(radicale.client, "Cloud", calendar)
    radicale.put(calendar, "UID:1", "SUMMARY:Mine", "DTSTART:20261121T110000Z")
    (item,) = dav.items(calendar, list(dav.etags(calendar)))
    radicale.put(calendar, "UID:1", "SUMMARY:Theirs", "DTSTART:20261121T110000Z")
    for write in (lambda: dav.replace(item, item.text), lambda: dav.remove(item)):
        with pytest.raises(Conflict, match="Somebody has changed that"):
            write()
    with pytest.raises(Conflict):
        dav.restore(item.href, item.text)
    assert "SUMMARY:Theirs" in radicale.files(calendar)[item.href]
    newest = CalendarObject(item.href, dav.etags(calendar)[item.href], item.text)
    assert dav.replace(newest, item.text.replace("Mine", "Both")).etag != newest.etag


@pytest.mark.real
async def test_the_calendars_of_an_account_are_found_by_its_address(world: Any, radicale: Radicale) -> None:
    calendar = radicale.make()
    radicale.put(calendar, "UID:1", "SUMMARY:Lunch", "DTSTART:20261121T110000Z", "DURATION:PT1H")
    for url in (f"http://127.0.0.1:{radicale.port}/", radicale.url):
        connect(world, server_of(world, url))
        assert ("Lunch", "2026-11-21T12:00") in starts(await world.ok("calendar.list", day="tomorrow"))


@pytest.mark.real
async def test_a_wrong_password_is_told_and_nothing_is_written(world: Any, radicale: Radicale) -> None:
    calendar = radicale.make()
    connect(world, server_of(world, calendar, "wrong"))
    answer = await world.ok("calendar.list")
    assert answer.text == "There is nothing in the calendar today. Cloud does not accept my password."
    refused = await world.refused("calendar.add", title="Dentist", start="2026-11-21T09:30")
    assert refused.text == "Cloud does not accept my password. So nothing is changed."
    assert "wrong" not in str(refused.data) + (world.data / "audit.jsonl").read_text()
    (world.data / "password").unlink()
    answer = await world.ok("calendar.list")
    assert answer.text.endswith("I can't read the password for Cloud.")


@pytest.mark.real
async def test_when_the_server_is_gone_what_was_known_is_told_with_its_age(
    world: Any, radicale: Radicale, calendar: str
) -> None:
    radicale.put(calendar, "UID:1", "SUMMARY:Lunch", "DTSTART:20261121T110000Z", "DURATION:PT1H")
    await world.ok("calendar.list")
    world.gate._outside = Outside()  # the house has no way out any more
    world.pass_seconds(3 * 3_600)
    answer = await world.ok("calendar.list", day="tomorrow")
    assert answer.text == (
        "You have 1 event tomorrow: Lunch at noon. Cloud can't be reached: I have no way out of the house: nothing is "
        "allowed in the settings of egress. What I tell of it I knew at 8 AM."
    )
    for tool, arguments in (
        ("calendar.add", {"title": "x", "start": "2026-11-21T09:30"}),
        ("calendar.change", {"title": "lunch", "start": "5 pm"}),
        ("calendar.remove", {"title": "lunch"}),
    ):
        answer = await world.call(tool, **arguments)
        if not answer.ask:
            assert answer.text.endswith("So nothing is changed.")
    world.gate._outside = Straight()
    assert [title for title, _ in starts(await world.ok("calendar.list", day="tomorrow"))] == ["Lunch"]


@pytest.mark.real
async def test_a_calendar_of_the_family_is_not_seen_at_work(world: Any, radicale: Radicale, calendar: str) -> None:
    radicale.put(calendar, "UID:1", "SUMMARY:Lunch", "DTSTART:20261121T110000Z")
    await world.ok("calendar.list", day="tomorrow")
    assert starts(await world.ok("calendar.list", "work", day="tomorrow")) == []
    refused = await world.refused("calendar.add", "work", title="x", start="2026-11-21", calendar="Cloud")
    assert refused.text == "There is no calendar called Cloud."


@pytest.mark.real
async def test_the_server_is_reached_through_the_egress_and_only_when_allowed(
    world: Any, radicale: Radicale, data: Path
) -> None:
    calendar = radicale.make()
    radicale.put(calendar, "UID:1", "SUMMARY:Lunch", "DTSTART:20261121T110000Z", "DURATION:PT1H")
    for allowed, expected in ((radicale.port, [("Lunch", "2026-11-21T12:00")]), (1, [])):
        with egress(data, f"127.0.0.1:{allowed}") as path:
            connect(world, server_of(world, calendar), outside=Outside(path))
            world.gate._state.run("DELETE FROM calendar_items")
            answer = await world.ok("calendar.list", day="tomorrow")
            assert starts(answer) == expected, answer.text
    assert "Cloud can't be reached" in answer.text


@pytest.mark.real
async def test_a_server_that_cannot_prove_who_it_is_gets_no_password(world: Any, tmp_path: Path) -> None:
    file = certificate(tmp_path)
    server = Radicale(tmp_path, file)
    try:
        url = f"https://localhost:{server.port}/anna/"
        client = httpx2.Client(auth=("anna", "secret"), verify=ssl.create_default_context(cafile=str(file)))
        with client:
            client.request("MKCALENDAR", f"{url}home/", content=MADE).raise_for_status()
        connect(world, server_of(world, url))
        assert (await world.ok("calendar.list")).text.endswith("Cloud can't prove who it is, so I don't talk to it.")
        connect(world, server_of(world, url).model_copy(update={"authority_file": file}))
        assert await world.said("calendar.add", title="Tea", start="tomorrow at 5 pm") == "Added Tea tomorrow at 5 PM."
        assert starts(await world.ok("calendar.list", day="tomorrow")) == [("Tea", "2026-11-21T17:00")]
    finally:
        server.close()


@contextmanager
def egress(data: Path, allow: str) -> Iterator[Path]:
    path = data / f"{uuid.uuid4().hex[:8]}.sock"
    command = [sys.executable, "-m", "atlas.egress", "--socket", str(path), "--record", str(data / "egress.jsonl")]
    process = subprocess.Popen([*command, "--allow", allow], stderr=subprocess.PIPE)
    try:
        assert process.stderr
        assert process.stderr.readline().startswith(b"ready")
        yield path
    finally:
        process.terminate()
        process.wait(10)
        process.stderr.close()  # type: ignore[union-attr]


# ── servers that lie, or say nothing ───────────────────────────────────────────────────────────────


@contextmanager
def liar(status: int, body: bytes, seconds: threading.Event | None = None) -> Iterator[str]:
    class Answers(BaseHTTPRequestHandler):
        def answer(self) -> None:
            if seconds:
                seconds.wait(10)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PROPFIND = do_REPORT = do_PUT = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/dav/"
    finally:
        if seconds:
            seconds.set()
        server.shutdown()
        thread.join()
        server.server_close()


def answering(prop: str) -> bytes:
    return (
        '<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:response><d:href>/dav/</d:href>'
        f"<d:propstat><d:prop>{prop}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
        "</d:multistatus>"
    ).encode()


ELSEWHERE = answering("<c:calendar-home-set><d:href>http://evil.example/</d:href></c:calendar-home-set>")
LIES = {
    "another machine": (207, ELSEWHERE, "Cloud sends me to another machine, evil.example, so I don't go there."),
    "entities": (207, b'<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>', "Cloud gave an answer that I don't trust."),
    "no XML": (207, b"<html>", "Cloud gave an answer that I don't understand."),
    "an error": (500, b"", "Cloud answered with error 500."),
    "elsewhere": (302, b"", "Cloud answered with error 302."),
    "nothing there": (404, b"", "That is not on Cloud any more."),
    "an empty account": (
        207,
        answering("<d:resourcetype><d:collection/></d:resourcetype>"),
        "Cloud has no calendar yet.",
    ),
}


@pytest.mark.parametrize("case", LIES)
async def test_a_server_that_lies_is_not_believed_and_hides_nothing(world: Any, case: str) -> None:
    status, body, text = LIES[case]
    world.clock[0] = NOW
    await world.ok("calendar.add", title="Dentist", start="2026-11-21T09:30")  # in a file
    with liar(status, body) as url:
        connect(world, server_of(world, url))
        answer = await world.ok("calendar.list", day="tomorrow")
    assert answer.text == f"You have 1 event tomorrow: Dentist at 9:30 AM. {text}"


async def test_a_server_that_says_nothing_is_not_waited_for(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diary, "STEP_SECONDS", 0.1)
    with liar(207, b"", threading.Event()) as url:
        connect(world, server_of(world, url))
        assert (await world.ok("calendar.list")).text.endswith("Cloud does not answer.")
        refused = await world.refused("calendar.add", title="Dentist", start="2026-11-21T09:30")
    assert refused.text == "Cloud does not answer. It may be done or not: look before you ask again."


@for_every(
    ("url", "agents"),
    [
        ("http://cloud.example/", ["family"]),
        ("ftp://localhost/", ["family"]),
        ("https://cloud.example/", []),
        ("https://anna:secret@cloud.example/", ["family"]),
    ],
)
def test_a_server_that_cannot_be_right_stops_the_start(url: str, agents: list[str]) -> None:
    with pytest.raises(ValidationError):
        CalendarAccount(name="Cloud", url=url, user="anna", password_file=Path("x"), agents=agents)


def test_new_events_go_to_a_server_that_there_is() -> None:
    with pytest.raises(ValidationError, match="'Cloud' is none"):
        Settings(add_to="Cloud")
