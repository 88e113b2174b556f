"""The weather is asked for through the way out, kept, and told with its age when nobody answers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from tools_server.reach.outside import Outside
from tools_server.tools import weather
from tools_server.tools.weather import Settings
from tools_server.world import cities as places

from .conftest import Straight

START = date(2027, 1, 15)  # the day of the world's clock, in Paris and here


def answer(**changed: Any) -> dict[str, Any]:
    """As the service writes it, with more in it than is asked for."""
    days = [(START + timedelta(number)).isoformat() for number in range(7)]
    return {
        "latitude": 51.45,
        "utc_offset_seconds": 3600,
        "timezone": "Europe/Paris",
        "current_units": {"temperature_2m": "°C"},
        "current": {
            "time": f"{START}T09:00",
            "interval": 900,
            "temperature_2m": 7.6,
            "apparent_temperature": 2.1,
            "relative_humidity_2m": 81,
            "weather_code": 61,
            "wind_speed_10m": 31.4,
        }
        | changed,
        "daily": {
            "time": days,
            "weather_code": [61, 3, 0, 95, 71, 2, 1],
            "temperature_2m_max": [9.2, 8.0, 1.0, 4.4, 0.2, 3.0, 5.0],
            "temperature_2m_min": [3.4, 2.0, -2.6, 1.0, -4.0, 0.0, 1.0],
            "precipitation_probability_max": [85, 10, 0, 60, 45, None, 5],
        },
    }


Reply = Callable[[BaseHTTPRequestHandler], None]


def said(body: bytes, status: int = 200) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.end_headers()
        handler.wfile.write(body)

    return reply


@contextmanager
def service(reply: Reply) -> Iterator[tuple[str, list[str]]]:
    """A weather service on this machine; its address and what it was asked."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            reply(self)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()


@contextmanager
def way_out(data: Path, address: str) -> Iterator[Outside]:
    """The real egress, allowed to that one address."""
    command = [
        sys.executable,
        "-m",
        "atlas.egress",
        "--socket",
        str(data / "e.sock"),
        "--record",
        str(data / "e.jsonl"),
    ]
    target = urlparse(address).netloc
    with subprocess.Popen([*command, "--allow", target], stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr
            assert process.stderr.readline().startswith(b"ready")
            yield Outside(data / "e.sock")
        finally:
            process.terminate()


def settle(world: Any, outside: Outside, **settings: Any) -> None:
    reported_settings = Settings(**{"place": "Bristol", "latitude": 51.45, "longitude": -2.59, **settings})
    world.gate._outside, world.gate._settings = outside, {**world.gate._settings, "weather": reported_settings}


async def test_the_weather_is_asked_through_the_real_way_out_and_written_down(world: Any, data: Path) -> None:
    with service(said(json.dumps(answer()).encode())) as (address, requests), way_out(data, address) as outside:
        settle(world, outside, address=address)
        assert await world.said("weather.now") == (
            "In Bristol it is 8 degrees with light rain. It feels like 2 degrees. The wind is 31 kilometres an hour."
        )
    query = parse_qs(urlparse(requests[0]).query)
    assert (query["latitude"], query["longitude"], query["temperature_unit"]) == (["51.45"], ["-2.59"], ["celsius"])
    rows = [json.loads(line) for line in (data / "e.jsonl").read_text().splitlines()]
    assert [row["event"] for row in rows][:1] == ["opened"]
    assert rows[0]["host"] == "127.0.0.1"


async def test_it_is_asked_once_and_kept_until_it_is_no_longer_fresh(world: Any) -> None:
    with service(said(json.dumps(answer()).encode())) as (address, requests):
        settle(world, Straight(), address=address)
        await world.said("weather.now")
        world.pass_seconds(weather.FRESH_SECONDS - 1)
        assert (await world.said("weather.now")).endswith(" I heard that 9 minutes ago.")
        assert len(requests) == 1
        world.pass_seconds(2)
        await world.said("weather.now")
        assert len(requests) == 2


async def test_without_a_way_out_the_last_that_was_heard_is_told_with_its_age(world: Any) -> None:
    with service(said(json.dumps(answer(wind_speed_10m=5, apparent_temperature=8)).encode())) as (address, _):
        settle(world, Straight(), address=address)
        await world.said("weather.now")
    settle(world, Outside(), address=address)
    world.pass_seconds(2 * 3600 + 100)
    details = await world.ok("weather.now")
    assert details.text.startswith("In Bristol it was 8 degrees with light rain. I have no way out of the house")
    assert details.text.endswith("That is what I heard 2 hours ago.")
    assert (details.data["age_seconds"], details.data["current"]) == (7300, False)
    assert "85 percent" in await world.said("weather.forecast", day="today")


async def test_with_nothing_ever_heard_it_says_why(world: Any) -> None:
    settle(world, Outside())
    refused = await world.refused("weather.now")
    assert refused.text.startswith("I can't ask for the weather just now. I have no way out of the house")


@pytest.mark.parametrize(
    ("day", "days", "text"),
    [
        ("", 2, "Today in Bristol: 3 to 9 degrees with light rain, and an 85 percent chance of rain. Tomorrow: 2 to 8"),
        ("tomorrow", 2, "Tomorrow in Bristol: 2 to 8 degrees and overcast."),
        ("Sunday", 2, "Sunday in Bristol: -3 to 1 degree and clear."),
        ("weekend", 2, "Tomorrow in Bristol: 2 to 8 degrees and overcast. Sunday: -3 to 1 degree and clear."),
        ("this afternoon", 2, "Today in Bristol: 3 to 9 degrees"),
        ("tomorrow morning", 2, "Tomorrow in Bristol: 2 to 8 degrees and overcast."),
        ("the next three days", 2, "Today in Bristol: 3 to 9 degrees"),
        ("next week", 2, "Monday in Bristol: 1 to 4 degrees with thunderstorms"),
        ("2027-01-18", 2, "Monday in Bristol: 1 to 4 degrees with thunderstorms, and a 60 percent chance of rain."),
    ],
)
async def test_a_forecast_is_for_the_days_that_were_named(world: Any, day: str, days: int, text: str) -> None:
    with service(said(json.dumps(answer()).encode())) as (address, _):
        settle(world, Straight(), address=address)
        assert (await world.said("weather.forecast", day=day, days=days)).startswith(text)


async def test_a_day_beyond_what_is_known_says_how_far_it_goes(world: Any) -> None:
    with service(said(json.dumps(answer()).encode())) as (address, _):
        settle(world, Straight(), address=address)
        refused = await world.refused("weather.forecast", day="2027-03-01")
        assert "I only know until Thursday, January 21." in refused.text
        assert "I don't understand “someday”." in (await world.refused("weather.forecast", day="someday")).text
        # Saturday's forecast is no answer to who asks about the one after it.
        assert "I only know until" in (await world.refused("weather.forecast", day="next weekend")).text


BROKEN: dict[str, tuple[Reply, str]] = {
    "garbage": (said(b"<html>no"), "don't understand"),
    "an error": (said(b"{}", 500), "error 500"),
    "a redirect elsewhere": (said(b"", 302), "error 302"),
    "half of it": (said(json.dumps({"current": answer()["current"]}).encode()), "don't understand"),
    "texts for numbers": (said(json.dumps(answer(temperature_2m="warm")).encode()), "don't understand"),
    "not a number": (said(json.dumps(answer(temperature_2m=float("nan"))).encode()), "don't understand"),
    "too much": (said(b"x" * (weather.ANSWER_BYTES + 1)), "more than I can take"),
    "nothing": (lambda handler: handler.connection.close(), "no answer that I understand"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_answer_is_said_to_be_one_and_never_told_as_weather(world: Any, name: str) -> None:
    reply, complaint = BROKEN[name]
    with service(reply) as (address, _):
        settle(world, Straight(), address=address)
        assert complaint in (await world.refused("weather.now")).text


async def test_a_service_that_drips_is_given_up(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weather, "FETCH_SECONDS", 0.1)
    done = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not done.wait(0.02):
            handler.wfile.write(b" ")

    with service(drip) as (address, _):
        settle(world, Straight(), address=address)
        try:
            assert "too slow just now" in (await world.refused("weather.now")).text
        finally:
            done.set()


async def test_lists_of_unlike_lengths_tell_the_days_that_are_whole(world: Any) -> None:
    short = answer()
    short["daily"]["temperature_2m_max"] = [9.2, None]
    with service(said(json.dumps(short).encode())) as (address, _):
        settle(world, Straight(), address=address)
        assert (await world.said("weather.forecast", days=7)).count("degrees") == 1


async def test_another_city_is_known_without_asking_anybody(world: Any) -> None:
    with service(said(json.dumps(answer()).encode())) as (address, requests):
        settle(world, Straight(), address=address, units="imperial")
        assert (await world.said("weather.now", place="münchen, Germany")).startswith("In Munich it is")
    query = parse_qs(urlparse(requests[0]).query)
    assert (query["latitude"], query["temperature_unit"], query["wind_speed_unit"]) == (
        ["48.10"],
        ["fahrenheit"],
        ["mph"],
    )


async def test_an_unknown_place_is_an_error_with_the_nearest_name(world: Any) -> None:
    settle(world, Outside())
    assert "The nearest name is Bristol." in (await world.refused("weather.now", place="Bristoll")).text
    assert "Say a larger city" in (await world.refused("weather.now", place="Qwxyz")).text


async def test_a_home_that_nobody_told_is_asked_for(world: Any) -> None:
    world.gate._settings = {**world.gate._settings, "weather": Settings()}
    assert "I don't know where home is" in (await world.refused("weather.now")).text


def test_every_place_lies_on_the_earth_and_some_where_they_should() -> None:
    assert all(abs(place.latitude) <= 90 and abs(place.longitude) <= 180 for place in places._known().values())
    results = {
        name: places.find(name) for name in ("New York", "Sydney", "Zürich", "den Haag", "São Paulo", "Paris, France")
    }
    assert all(results.values()), results
    assert [round(results[name].latitude) for name in ("New York", "Sydney", "Zürich")] == [41, -34, 47]  # type: ignore[union-attr]
    assert places.find("nowhere at all") is None
