"""A house over a real broker and over Home Assistant's own protocol: what is meant, what was done, what is said."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import threading
import time
import types
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import paho.mqtt.client as paho
import pytest
from anyio.abc import Process
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st
from paho.mqtt.enums import CallbackAPIVersion
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from tests.conftest import for_every
from tests.processes import free_port
from tests.tools_server.conftest import Straight
from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.gate.call_request import CallRequest, CallResult
from tools_server.gate.gate import Gate
from tools_server.gate.record import AuditEntry
from tools_server.hubs.devices import Device, DeviceTarget, NotMeant, meant, plain
from tools_server.hubs.mqtt_commands import commands
from tools_server.hubs.mqtt_discovery import Unclear, discovered
from tools_server.hubs.mqtt_states import value_at
from tools_server.sdk.toolkit import Result, ToolFailed
from tools_server.values.boot_files import BootFailed
from tools_server.values.policy import CallActor

RULES = """
[[rule]]
id = "no-music-for-children"
roles = ["child"]
tools = ["home.play"]
arguments = { device = ["box"] }
then = "deny"
because = "Children play no music."

[[rule]]
id = "the-big-lamp-is-for-grown-ups"
roles = ["child"]
tools = ["home.*"]
arguments = { device = ["*big lamp*"] }
then = "deny"
because = "Children leave the big lamp alone."
"""
POLICY = Path(__file__).parents[2] / "policy.toml"


@dataclass
class House:
    """A gate whose devices are the test's."""

    gate: Gate
    agents: Any

    async def call(self, tool: str, role: str = "adult", here: str = "", **arguments: Any) -> CallResult:
        actor = {"role": role, "room": here}
        return await self.gate.call(CallRequest(self.agents["family"], tool, arguments, actor, "turn_1", "test"))

    async def said(self, tool: str, **arguments: Any) -> str:
        answer = await self.call(tool, **arguments)
        assert answer.error is None, answer.text
        return answer.text

    async def agreed(self, tool: str, **arguments: Any) -> Result:
        """Do it as after a person's yes."""
        spec = self.gate._tools[tool]
        filled = dict(spec.arguments.model_validate(arguments))
        wish = CallRequest(self.agents["family"], tool, arguments)
        call = self.gate._call(
            spec, wish, AuditEntry(wish.agent, tool, arguments, actor=CallActor(role="adult")), filled
        )
        return await spec.run(call, **filled)

    @property
    def home(self) -> Any:
        return self.gate._engines["home"]

    async def until(self, true: Callable[[], bool]) -> None:
        with anyio.fail_after(30):
            assert await self.home.until(true, 30)

    def device(self, name: str) -> Device | None:
        return next((device for device in self.home.devices() if device.name == name), None)


@asynccontextmanager
async def house(
    data: Path, tools: str, rules: str = RULES, now: Callable[[], float] = time.time
) -> AsyncIterator[House]:
    (data / "agents.toml").write_text("[family]\ntools = ['*']\nacts_as = 'adult'\n")
    (data / "policy.toml").write_text(POLICY.read_text() + rules)
    (data / "tools.toml").write_text(tools)
    start = ServerSettings(data, data / "agents.toml", data / "policy.toml", tools=data / "tools.toml", timezone="UTC")
    with opened_gate(start, now) as (gate, agents):
        gate._outside = Straight()
        async with gate.engines():
            yield House(gate, agents)


# ── which is meant ─────────────────────────────────────────────────────────────────────────────────

LAMPS = [
    Device("1", "Ceiling", "Kitchen", "light", frozenset({"on"})),
    Device("2", "Ceiling", "Hall", "light", frozenset({"on"})),
    Device("3", "Reading lamp", "Living room", "light", frozenset({"on"}), aliases=("book light",)),
    Device("4", "Fridge", "Kitchen", "switch", frozenset({"on"})),
    Device("5", "Kitchen strip", "Kitchen", "light", frozenset({"on"})),
]


@for_every(
    ("target", "ids"),
    [
        (DeviceTarget("the reading lamp"), "3"),
        (DeviceTarget("Book Light"), "3"),
        (DeviceTarget("kitchen ceiling"), "1"),
        (DeviceTarget("ceiling in the hall"), "2"),
        (DeviceTarget("ceiling", room="hall"), "2"),
        (DeviceTarget("ceiling", here="Kitchen"), "1"),
        (DeviceTarget("strip"), "5"),
        (DeviceTarget("lights", room="the kitchen"), "15"),
        (DeviceTarget(kind="light", here="Kitchen"), "15"),
        (DeviceTarget(kind="light", everything=True), "1235"),
        (DeviceTarget("fridge", kind="light"), "4"),  # a model guesses the kind; the name is what was said
    ],
)
def test_what_was_said_finds_what_was_meant(target: DeviceTarget, ids: str) -> None:
    assert "".join(sorted(device.id for device in meant(LAMPS, target, ("light", "switch")))) == ids


@for_every(
    ("target", "sentence"),
    [
        (DeviceTarget("reeding lamp"), "There is no device reeding lamp. The nearest is Reading lamp."),
        (DeviceTarget(kind="light", room="kitschen"), "There is no room kitschen. The nearest is Kitchen."),
        (DeviceTarget("ceiling"), "Which one: the Ceiling in the Hall or the Ceiling in the Kitchen?"),
        (DeviceTarget("fridge", room="hall"), "There is no Fridge in the Hall; it is in Kitchen."),
        (DeviceTarget(kind="light"), "In which room? For the whole house, say all the lights in the house."),
        (DeviceTarget(kind="light", room="Living room", here="Kitchen"), ""),
        (DeviceTarget(room="kitchen"), "Which device do you mean?"),
        (DeviceTarget(), "Which device do you mean?"),
        (DeviceTarget("all"), "There is no device all."),
        (DeviceTarget("everything"), "There is no device everything."),
        (DeviceTarget("*"), "There is no device ."),
        (DeviceTarget("all lights"), "There is no device all lights."),
        (DeviceTarget(kind="switch", room="hall"), "There are no switches in the Hall."),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest_and_is_never_all_of_them(
    target: DeviceTarget, sentence: str
) -> None:
    if not sentence:
        assert [device.id for device in meant(LAMPS, target, ("light", "switch"))] == ["3"]
        return
    with pytest.raises(NotMeant) as refused:
        meant(LAMPS, target, ("light", "switch"))
    assert str(refused.value).startswith(sentence)


HOUSE = [
    *LAMPS,
    Device("6", "Big door", "Garage", "cover", frozenset({"open"}), shape="garage"),
    Device("7", "Nest", "Hall", "climate", frozenset({"temperature"})),
    Device("8", "Box", "Study", "media", frozenset({"playing"})),
]


@for_every(
    ("target", "means"),
    [
        (DeviceTarget("the light", here="Hall"), "2"),
        (DeviceTarget("lamp", room="hall"), "2"),
        (DeviceTarget("light", here="Kitchen"), "Which one: the Ceiling in the Kitchen or the Kitchen strip?"),
        (
            DeviceTarget("light", room="study"),
            "There is no light in the Study; it is in Hall, Kitchen and Living room.",
        ),
        (DeviceTarget("the hall light"), "2"),
        (DeviceTarget("living room lamp", here="Hall"), "3"),
        (DeviceTarget("hall lights"), "2"),
        (DeviceTarget("kitchen light"), "Which one: the Ceiling in the Kitchen or the Kitchen strip?"),
        (DeviceTarget("garage door"), "6"),
        (DeviceTarget("thermostat"), "7"),
        (DeviceTarget(kind="climate", here="Kitchen"), "7"),
        (DeviceTarget(kind="climate"), "7"),
        (DeviceTarget(kind="media"), "8"),
        (DeviceTarget(kind="climate", room="kitchen"), "There are no thermostats in the Kitchen."),
        (DeviceTarget(kind="light", here="Study"), "There are no lights in the Study."),
    ],
)
def test_the_one_of_its_kind_is_meant_and_never_more_than_one(target: DeviceTarget, means: str) -> None:
    try:
        devices = meant(HOUSE, target, ("light", "cover", "climate", "media"))
    except NotMeant as unclear:
        assert str(unclear) == means
        return
    assert "".join(device.id for device in devices) == means


def test_a_lamp_that_is_called_light_is_not_every_rooms_light() -> None:
    lamps = (("8", "Spot", ""), ("9", "Light", "Study"))
    house = [*LAMPS, *(Device(id, name, room, "light", frozenset({"on"})) for id, name, room in lamps)]
    for target, id in (
        (DeviceTarget("light", room="hall"), "2"),
        (DeviceTarget("light", here="hall"), "2"),
        (DeviceTarget("light", room="study"), "9"),
        (DeviceTarget("light", here="Attic"), "9"),
        (DeviceTarget("light"), "9"),
    ):
        assert [device.id for device in meant(house, target, ("light",))] == [id]


BLIND = Device("6", "Blind", "Attic", "cover", frozenset({"open"}))


@for_every(
    ("target", "sentence"),
    [
        (DeviceTarget(kind="light", room="attic"), "There are no lights in the Attic."),
        (DeviceTarget("blind"), "I can't do that with the Blind: it can only be opened, closed or set."),
        (
            DeviceTarget(kind="cover", room="attic"),
            "I can't do that with blinds: they can only be opened, closed or set.",
        ),
        (DeviceTarget("blinds"), "I can't do that with blinds: they can only be opened, closed or set."),
        (DeviceTarget("ceiling", room="attic"), "There is no Ceiling in the Attic; it is in Hall and Kitchen."),
    ],
)
def test_what_is_there_but_cannot_be_switched_is_not_said_to_be_missing(target: DeviceTarget, sentence: str) -> None:
    with pytest.raises(NotMeant) as refused:
        meant([*LAMPS, BLIND], target, ("light", "switch"))
    assert str(refused.value) == sentence


@given(st.text(max_size=30), st.sampled_from(["", "Kitchen", "x"]))
def test_no_name_whatever_means_more_than_one_device(name: str, room: str) -> None:
    """Only the words for a kind do, and they are not names."""
    if not plain(name) or plain(name) in ("lights", "lamps", "switches"):
        return
    try:
        devices = meant(LAMPS, DeviceTarget(name, room), ("light", "switch"))
    except NotMeant:
        return
    assert len(devices) == 1 or not name


# ── discovery ──────────────────────────────────────────────────────────────────────────────────────


def config(**parts: Any) -> bytes:
    return json.dumps(parts).encode()


def test_a_lamp_in_short_words_is_the_same_as_in_long_ones() -> None:
    topics = {"~": "z/lamp", "stat_t": "~/state", "cmd_t": "~/set", "bri_cmd_t": "~/bri/set", "bri_stat_t": "~/bri"}
    short = config(**topics, name="Lamp", bri_scl=100, uniq_id="1", dev={"ids": ["1"], "sa": "Hall"})
    [lamp] = discovered("homeassistant", "homeassistant/light/node/lamp/config", short)
    assert (lamp.device.name, lamp.device.room, lamp.device.can) == ("Lamp", "Hall", {"on", "brightness"})
    assert [listen.topic for listen in lamp.listens] == ["z/lamp/state", "z/lamp/bri"]
    assert [(m.topic, m.payload) for m in commands(lamp, {"on": True, "brightness": 40})] == [
        ("z/lamp/set", "ON"),
        ("z/lamp/bri/set", "40"),
    ]


def test_one_config_may_describe_a_whole_device() -> None:
    whole = config(
        dev={"ids": "m1", "name": "Multi", "suggested_area": "Cellar"},
        o={"name": "bridge"},
        cmps={
            "relay": {"p": "switch", "cmd_t": "m/set", "stat_t": "m/state", "uniq_id": "m1r", "name": None},
            "heat": {"p": "sensor", "name": "Temperature", "val_tpl": "{{ value_json.t }}", "unit_of_meas": "°C"},
            "gone": {"p": "sensor"},
        },
        stat_t="m/all",
    )
    relay, heat = discovered("ha", "ha/device/m1/config", whole)
    assert (relay.device.id, relay.device.name, relay.device.room) == ("mqtt:device/m1/relay", "Multi", "Cellar")
    assert (heat.device.name, heat.listens[0].topic) == ("Multi Temperature", "m/all")
    assert heat.listens[0].read('{"t": 21.5}') == {"value": 21.5, "unit": "°C"}


@for_every(
    ("template", "payload", "value"),
    [
        ("", "ON", "ON"),
        ("{{ value }}", "ON", "ON"),
        ("{{ value_json.a.b }}", '{"a": {"b": 1}}', 1),
        ("{{value_json['a b']}}", '{"a b": 2}', 2),
        ('{{ value_json["a"][1] | float }}', '{"a": [1, 3]}', 3),
        ("{{ value_json.x | round(1) }}", '{"x": 2.25}', 2.25),
        ("{{ value_json.missing }}", "{}", None),
        ("{{ value_json.a }}", "no json", None),
        ("{{ value_json.a }}", "[" * 100_000, None),
    ],
)
def test_plain_templates_are_read(template: str, payload: str, value: Any) -> None:
    assert value_at(template, payload) == value


def test_a_device_with_a_template_that_is_a_program_is_listed_and_says_so() -> None:
    lamp = config(name="Odd", cmd_t="a", stat_t="b", val_tpl="{% if value == '1' %}ON{% endif %}")
    [odd] = discovered("ha", "ha/switch/odd/config", lamp)
    assert (odd.device.can, odd.listens, odd.device.lacks) == (set(), [], "it needs a template that I can't read")


@for_every(
    "payload",
    [b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b"{" + b" " * 70_000 + b"}", config(stat_t="#"),
     config(cmd_t="a/+"),
     config(avty=[{"t": "#"}]), config(avty_t="x", avty_tpl="{% x %}"), config(stat_t=["a"])],
)  # fmt: skip
def test_a_config_that_is_none_is_not_a_device(payload: bytes) -> None:
    with pytest.raises(Unclear):
        discovered("ha", "ha/switch/odd/config", payload)


KEYS = st.sampled_from(
    ["name", "dev", "cmps", "stat_t", "avty", "t", "p", "~", "val_tpl", "modes", "sup_clrm", "bri_scl"]
)
VALUES = st.none() | st.booleans() | st.floats() | st.text() | st.just(10**400)


@settings(max_examples=30, deadline=None)
@given(st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_no_config_whatever_is_an_accident(value: Any) -> None:
    for component in ("light", "device", "climate", "cover"):
        try:
            discovered_devices = discovered("ha", f"ha/{component}/x/config", json.dumps(value).encode())
        except Unclear:
            continue
        for discovered_device in discovered_devices:
            for listen in discovered_device.listens:
                listen.read("1")


HOSTILE = (
    "1",
    "1e400",
    "nan",
    "[[",
    f'{{"a":{10**350},"brightness":{10**350}}}',
    f"1,2,{10**350}",
    "9" * 4400,
    '{"a":{"b":[]}}',
)


@for_every(
    ("component", "more"),
    [
        ("fan", {"pct_cmd_t": "p", "pct_stat_t": "p", "spd_rng_min": 1, "spd_rng_max": 10**400}),
        ("light", {"bri_cmd_t": "b", "bri_stat_t": "b", "bri_scl": 1e-320}),
        ("light", {"schema": "json", "brightness": True, "bri_scl": 1e-320}),
        ("light", {"clr_temp_cmd_t": "c", "clr_temp_stat_t": "s", "min_mireds": 1e-320, "max_mireds": 1e-320}),
        ("cover", {"pos_t": "s", "pos_open": 1e-320}),
        ("sensor", {"val_tpl": "{{ value_json.a }}"}),
        ("sensor", {"val_tpl": 0.0}),
    ],
)
def test_no_number_of_a_device_is_an_accident(component: str, more: Mapping[str, Any]) -> None:
    try:
        devices = discovered("ha", f"ha/{component}/x/config", config(cmd_t="a", stat_t="s", **more))
    except Unclear:
        return
    for device in devices:
        for listen in device.listens:
            for payload in HOSTILE:
                listen.read(payload)


def test_heating_blinds_and_locks_are_told_in_their_own_words() -> None:
    [heat] = discovered("ha", "ha/climate/h/config", config(temp_cmd_t="h/t", mode_cmd_t="h/m", modes=["off", "heat"]))
    assert [(m.topic, m.payload) for m in commands(heat, {"temperature": 21.5})] == [("h/t", "21.5")]
    assert [(m.topic, m.payload) for m in commands(heat, {"on": True})] == [("h/m", "heat")]
    [blind] = discovered(
        "ha", "ha/cover/b/config", config(cmd_t="b/c", set_pos_t="b/p", pos_t="b", pos_open=0, pos_clsd=200)
    )
    assert [(m.topic, m.payload) for m in commands(blind, {"position": 25})] == [("b/p", "150")]
    assert blind.listens[0].read("150") == {"position": 25, "open": True}
    [door] = discovered("ha", "ha/lock/d/config", config(cmd_t="d/c", stat_t="d", pl_unlk="OPEN SESAME"))
    assert [(m.topic, m.payload) for m in commands(door, {"locked": False})] == [("d/c", "OPEN SESAME")]


def test_fans_robots_and_valves_are_told_in_their_own_words_and_understood() -> None:
    def one(component: str, **parts: Any) -> Any:
        [thing] = discovered("ha", f"ha/{component}/x/config", config(**parts))
        return thing

    fan = one("fan", cmd_t="f", stat_t="f/s", pct_cmd_t="f/p", pct_stat_t="f/p/s", spd_rng_min=1, spd_rng_max=4)
    assert (fan.device.can, fan.device.limits) == ({"on", "speed"}, {"speed": (25, 100)})
    assert [m.payload for m in commands(fan, {"on": True, "speed": 60})] == ["ON", "3"]
    assert fan.listens[-1].read("2") == {"speed": 50}
    robot = one("vacuum", cmd_t="v", stat_t="v/s")
    assert (robot.device.kind, robot.device.can) == ("vacuum", {"clean", "dock"})
    assert [m.payload for m in commands(robot, {"activity": "cleaning"})] == ["start"]
    assert [m.payload for m in commands(robot, {"activity": "docked"})] == ["return_to_base"]
    assert robot.listens[0].read('{"state": "cleaning", "battery_level": 61}') == {
        "activity": "cleaning",
        "battery": 61,
    }
    mower = one("lawn_mower", strt_mw_cmd_t="m/start", dock_cmd_t="m/dock", act_stat_t="m")
    assert [(m.topic, m.payload) for m in commands(mower, {"activity": "mowing"})] == [("m/start", "start_mowing")]
    assert [(m.topic, m.payload) for m in commands(mower, {"activity": "docked"})] == [("m/dock", "dock")]
    assert mower.listens[0].read("mowing") == {"activity": "mowing"}
    tap = one("valve", cmd_t="t", stat_t="t/s")
    assert [m.payload for m in commands(tap, {"open": True})] == ["OPEN"]
    assert tap.listens[0].read("closed") == {"open": False, "heading": ""}
    turned = one("valve", cmd_t="t", stat_t="t/s", pos=True, pos_open=50)
    assert [m.payload for m in commands(turned, {"position": 40})] == ["20"]
    assert [m.payload for m in commands(turned, {"open": True})] == ["50"]
    assert turned.listens[0].read('{"state": "opening", "position": 25}') == {
        "heading": "",
        "position": 50,
        "open": True,
    }
    phone = one("device_tracker", stat_t="p", pl_not_home="gone")
    assert [phone.listens[0].read(word)["place"] for word in ("home", "gone", "School")] == ["home", "away", "School"]


def test_a_device_that_counts_in_fahrenheit_is_told_so_and_held_in_celsius() -> None:
    parts = {"temp_cmd_t": "t", "temp_stat_t": "s", "temp_unit": "F", "min_temp": 50, "max_temp": 86}
    [heat] = discovered("ha", "ha/climate/h/config", config(**parts))
    assert (heat.device.fahrenheit, heat.device.limits["temperature"]) == (True, (10, 30))
    assert [m.payload for m in commands(heat, {"temperature": 20})] == ["68"]
    assert heat.listens[0].read("70") == {"temperature": 21.11}


def test_a_broker_outside_the_house_is_not_spoken_to_in_the_clear(data: Path) -> None:
    (data / "agents.toml").write_text("")
    (data / "tools.toml").write_text("[home.mqtt]\nhost = 'mqtt.example.org'\ntls = 'none'\n")
    gate = opened_gate(ServerSettings(data, data / "agents.toml", POLICY, tools=data / "tools.toml"))
    with pytest.raises(BootFailed, match=r"mqtt\.example\.org is not on the network of this house"), gate:
        pass


# ── a real broker ──────────────────────────────────────────────────────────────────────────────────


class Lamps:
    """Things that speak MQTT as the ones that are sold do: another client of the same broker, with its own thread."""

    def __init__(self, port: int) -> None:
        self.heard: list[tuple[str, str]] = []
        self.deaf: set[str] = set()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._on_message
        self._client.on_connect = lambda *_: self._client.subscribe("lamp/+/set")
        self._client.reconnect_delay_set(1, 1)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def publish(self, topic: str, payload: bytes | str) -> None:
        self._client.publish(topic, payload, qos=1, retain=True).wait_for_publish(10)

    def announce(self, name: str, room: str) -> None:
        id = name.replace(" ", "_")
        parts = {"name": name, "uniq_id": id, "schema": "json", "brightness": True, "~": f"lamp/{id}"}
        topics = {"stat_t": "~", "cmd_t": "~/set", "avty_t": "~/here"}
        self.publish(f"homeassistant/light/{id}/config", config(**parts, **topics, dev={"ids": [id], "sa": room}))
        self.publish(f"lamp/{id}/here", "online")
        self.publish(f"lamp/{id}", '{"state": "OFF"}')

    def forget(self, name: str) -> None:
        self.publish(f"homeassistant/light/{name}/config", b"")

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        name = message.topic.split("/")[1]
        self.heard.append((name, message.payload.decode()))
        if name not in self.deaf:
            self._client.publish(f"lamp/{name}", message.payload, retain=True)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@asynccontextmanager
async def broker(data: Path, port: int, more: str = "allow_anonymous true\n") -> AsyncIterator[Process]:
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert program, "the Debian package mosquitto is missing: ./check installs it"
    file = data / "mosquitto.conf"
    file.write_text(
        f"listener {port} 127.0.0.1\n{more}persistence true\npersistence_location {data}/\nuser root\nlog_type error\n"
    )
    async with await anyio.open_process([program, "-c", str(file)], stdin=None, stdout=None, stderr=None) as process:
        try:
            with anyio.fail_after(30):
                await anyio.to_thread.run_sync(_reached, port)
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
            with anyio.CancelScope(shield=True):
                await process.wait()


def _reached(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            threading.Event().wait(0.02)
        else:
            return


@pytest.mark.real
async def test_lamps_of_a_real_broker_are_found_turned_seen_and_put_back(data: Path) -> None:
    port = free_port()
    aliases = "[home.aliases]\n'sun' = 'big lamp'\n[home.rooms]\n'desk' = 'Study'\n"
    async with broker(data, port):
        lamps = Lamps(port)
        lamps.announce("big lamp", "Kitchen")
        lamps.announce("counter", "Kitchen")
        lamps.announce("desk", "Hall")
        try:
            async with house(
                data, f"[home.mqtt]\nhost = '127.0.0.1'\nport = {port}\ntls = 'none'\n{aliases}"
            ) as opened:
                await opened.until(lambda: len([d for d in opened.home.devices() if d.reachable and d.state]) == 3)
                assert (await opened.said("home.list", room="study")) == "The desk."
                done = await opened.call("home.set", device="desk", brightness=40)
                assert done.text == "The desk in the Study is now at 40 percent."
                assert done.receipt
                assert await opened.said("home.state", device="desk") == "The desk in the Study is on, at 40 percent."
                assert await opened.said("home.turn", on=True, kind="light", room="kitchen") == (
                    "2 lights in the Kitchen are now on."
                )
                assert await opened.said("home.turn", on=True, device="counter") == (
                    "The counter in the Kitchen is already on."
                )
                undone = await opened.call("history.undo", receipt=done.receipt.id)
                assert (undone.error, opened.device("desk").state["on"]) == (None, False)  # type: ignore[union-attr]

                before = len(lamps.heard)
                unknown = await opened.call("home.turn", on=False, device="big lump")
                assert (unknown.error, unknown.text) == (
                    "not_found",
                    "There is no device big lump. The nearest is big lamp.",
                )
                assert len(lamps.heard) == before, "nothing may happen to what was not meant"
                # The rule names the lamp; neither its alias nor its room goes round it.
                for words in ({"device": "big lamp"}, {"device": "sun"}, {"kind": "light", "room": "Kitchen"}):
                    refused = await opened.call("home.turn", role="child", on=False, **words)
                    assert (refused.error, refused.text) == ("denied", "Children leave the big lamp alone.")

                lamps.deaf.add("counter")
                silent = await opened.call("home.turn", on=False, device="counter")
                assert (silent.error, silent.text) == (
                    "failed",
                    "I sent it, but the counter in the Kitchen did not answer.",
                )
                half = await opened.call("home.turn", on=False, kind="light", everything=True)
                assert (half.error, half.data["silent"]) == (None, ["counter"])
                assert "I sent it, but the counter in the Kitchen did not answer." in half.text

                lamps.publish("lamp/desk/here", "offline")
                await opened.until(lambda: not opened.device("desk").reachable)  # type: ignore[union-attr]
                assert "cannot be reached" in (await opened.call("home.turn", on=True, device="desk")).text
                lamps.forget("desk")
                await opened.until(lambda: opened.device("desk") is None)
        finally:
            lamps.close()


@pytest.mark.real
async def test_a_broker_that_dies_comes_back_with_what_is_left(data: Path) -> None:
    port = free_port()
    async with house(data, f"[home.mqtt]\nhost = '127.0.0.1'\nport = {port}\ntls = 'none'\n") as opened:
        assert (await opened.call("home.list")).text == "There are no devices."  # the start waited for nobody
        async with broker(data, port) as process:
            lamps = Lamps(port)
            lamps.announce("one", "Hall")
            lamps.announce("two", "Hall")
            await opened.until(lambda: len([d for d in opened.home.devices() if d.reachable and d.state]) == 2)
            process.kill()
            await opened.until(lambda: not opened.home.mqtt.connected)
            gone = await opened.call("home.turn", on=True, device="one")
            assert (gone.error, gone.text) == ("failed", "The one in the Hall cannot be reached just now.")
        lamps.close()
        (data / "mosquitto.db").unlink(missing_ok=True)
        async with broker(data, port):
            lamps = Lamps(port)
            lamps.announce("two", "Hall")
            try:
                await opened.until(lambda: opened.device("one") is None)
                assert await opened.said("home.turn", on=True, device="two") == "The two in the Hall is now on."
            finally:
                lamps.close()


def certified(data: Path, host: str) -> None:
    """Make a throwaway certificate for a machine, by itself its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(hours=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (data / "pem").write_bytes(made.public_bytes(Encoding.PEM))
    (data / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


@pytest.mark.real
async def test_a_broker_with_a_certificate_and_a_password_lets_in_who_has_it(data: Path) -> None:
    port = free_port()
    certified(data, "mqtt.example.org")
    maker = shutil.which("mosquitto_passwd", path="/usr/bin:/usr/local/bin")
    assert maker
    await anyio.run_process([maker, "-b", "-c", str(data / "users"), "atlas", "right"])
    more = f"certfile {data}/pem\nkeyfile {data}/key\npassword_file {data}/users\n"
    async with broker(data, port, more):
        for host, password, there in (("mqtt", "right", True), ("mqtt", "wrong", False), ("other", "right", False)):
            (data / "secret").write_text(f"{password}\n")
            table = f"[home.mqtt]\nhost = '{host}.example.org'\nport = {port}\nauthority_file = '{data}/pem'\n"
            async with house(data, table + f"user = 'atlas'\npassword_file = '{data}/secret'\n") as opened:
                if there:
                    await opened.until(lambda: opened.home.mqtt.connected)
                else:
                    assert not await opened.home.until(lambda: opened.home.mqtt.connected, 1.0)


# ── Home Assistant ─────────────────────────────────────────────────────────────────────────────────


@dataclass
class Assistant:
    """A small Home Assistant: its WebSocket API, as it is documented, over a few things."""

    states: dict[str, dict[str, Any]]
    called: list[tuple[str, str, Any]] = field(default_factory=list)
    deaf: bool = False
    unit: str = "°C"
    aliases: dict[str, list[str]] = field(default_factory=dict)
    registries: Mapping[str, Any] = field(default_factory=dict)  # instead of those below
    connections: list[ServerConnection] = field(default_factory=list)

    def serve(self, connection: ServerConnection) -> None:
        try:
            self._serve(connection)
        except ConnectionClosed:
            return

    def _serve(self, connection: ServerConnection) -> None:
        def send(**message: Any) -> None:
            connection.send(json.dumps(message))

        send(type="auth_required", ha_version="2026.11.0")
        if json.loads(connection.recv())["access_token"] != "token":
            send(type="auth_invalid", message="Invalid password")
            return
        send(type="auth_ok", ha_version="2026.11.0")
        self.connections.append(connection)
        events = [0]
        for text in connection:
            question = json.loads(text)
            id, kind = question["id"], question["type"]
            result: Any = None
            match kind:
                case str() if (name := kind.removeprefix("config/").removesuffix("_registry/list")) in self.registries:
                    result = self.registries[name]
                case "subscribe_events":
                    events[0] = id if question["event_type"] == "state_changed" else events[0]
                case "get_states":
                    result = list(self.states.values())
                case "get_config":
                    result = {"unit_system": {"temperature": self.unit}}
                case "config/floor_registry/list":
                    result = [{"floor_id": "ground", "name": "Ground Floor", "aliases": ["downstairs"]}]
                case "config/entity_registry/get_entries":
                    result = {
                        id: {"entity_id": id, "aliases": self.aliases.get(id, [])} for id in question["entity_ids"]
                    }
                case "config/area_registry/list":
                    result = [
                        {"area_id": "hall", "name": "Hall", "floor_id": "ground", "aliases": ["corridor"]},
                        {"area_id": "garage", "name": "Garage", "floor_id": None, "aliases": []},
                    ]
                case "config/device_registry/list":
                    result = [{"id": "d1", "area_id": "garage"}]
                case "config/entity_registry/list":
                    result = [
                        {"entity_id": "light.hall", "area_id": "hall", "device_id": None},
                        {"entity_id": "cover.door", "area_id": None, "device_id": "d1"},
                        {"entity_id": "light.secret", "hidden_by": "user"},
                    ]
                case "media_player/search_media":
                    words, kind_of = question["search_query"], question["media_filter_classes"][0]
                    result = {"result": [{"media_content_id": f"id of {words}", "media_content_type": kind_of}]}
                case "call_service":
                    self._call(question, lambda change: send(id=events[0], type="event", event=change))
                case _:
                    send(id=id, type="result", success=False, error={"code": "unknown_command"})
                    continue
            send(id=id, type="result", success=True, result=result)

    def _call(self, question: Any, tell: Callable[[Any], None]) -> None:
        entity, service = question["target"]["entity_id"], question["service"]
        self.called.append((entity, service, question["service_data"]))
        if self.deaf:
            return
        state = self.states[entity]
        new = {"turn_on": "on", "turn_off": "off", "open_cover": "opening", "close_cover": "closing",
               "media_pause": "paused", "media_play": "playing", "start": "cleaning", "clean_area": "cleaning",
               "return_to_base": "returning", "start_mowing": "mowing",
               "open_valve": "opening"}.get(service, state["state"])  # fmt: skip
        attributes = dict(state["attributes"])
        if "brightness_pct" in question["service_data"]:
            attributes["brightness"] = round(question["service_data"]["brightness_pct"] * 2.55)
        if "percentage" in question["service_data"]:
            attributes["percentage"] = question["service_data"]["percentage"]
        if "is_volume_muted" in question["service_data"]:
            attributes["is_volume_muted"] = question["service_data"]["is_volume_muted"]
        if "temperature" in question["service_data"]:
            attributes["temperature"] = question["service_data"]["temperature"]
        self.states[entity] = {"entity_id": entity, "state": new, "attributes": attributes}
        data = {"entity_id": entity, "old_state": state, "new_state": self.states[entity]}
        tell({"event_type": "state_changed", "data": data})


def entity(id: str, state: str, name: str, **attributes: Any) -> dict[str, Any]:
    return {"entity_id": id, "state": state, "attributes": {"friendly_name": name, **attributes}}


@pytest.fixture
async def assistant(data: Path) -> AsyncIterator[tuple[House, Assistant, Server]]:
    async with assisted(data) as opened:
        yield opened


@asynccontextmanager
async def assisted(
    data: Path,
    more: str = "",
    unit: str = "°C",
    registries: Mapping[str, Any] = types.MappingProxyType({}),
    more_things: Sequence[dict[str, Any]] = (),
    **how: Any,
) -> AsyncIterator[tuple[House, Assistant, Server]]:
    things = [
        entity("light.hall", "off", "Hall light", supported_color_modes=["brightness", "color_temp"]),
        entity("light.secret", "on", "Secret"),
        entity("cover.door", "closed", "Big door", device_class="garage"),
        entity("climate.all", "heat", "Heating", temperature=19, current_temperature=18.5),
        entity("media_player.box", "playing", "Box", volume_level=0.3),
        entity("sensor.out", "7.5", "Outside", unit_of_measurement="°C"),
        entity("automation.x", "on", "Not a device"),
        *more_things,
    ]
    small = Assistant({thing["entity_id"]: thing for thing in things}, unit=unit, registries=registries)
    (data / "token").write_text("token\n")
    server = serve(small.serve, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        table = f"[home.home_assistant]\nurl = '{url}'\ntoken_file = '{data}/token'\n{more}"
        async with house(data, table, **how) as opened:
            await opened.until(lambda: opened.home.ha.connected)
            yield opened, small, server
    finally:
        server.shutdown()
        thread.join()


async def test_home_assistant_is_told_the_token_only_when_its_certificate_is_right(data: Path) -> None:
    certified(data, "ha.example.org")
    (data / "token").write_text("token\n")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(data / "pem", data / "key")
    small = Assistant({"light.hall": entity("light.hall", "off", "Hall light")})
    server = serve(small.serve, "127.0.0.1", 0, ssl=context)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        for host, there in (("ha", True), ("other", False)):
            url = f"https://{host}.example.org:{server.socket.getsockname()[1]}"
            table = (
                f"[home.home_assistant]\nurl = '{url}'\ntoken_file = '{data}/token'\nauthority_file = '{data}/pem'\n"
            )
            async with house(data, table) as opened:
                assert await opened.home.until(lambda: opened.home.ha.connected, 10.0 if there else 0.6) is there
    finally:
        server.shutdown()
        await anyio.to_thread.run_sync(thread.join)
    assert len(small.connections) == 1


async def test_home_assistants_things_are_in_their_rooms_and_hidden_ones_are_not_there(assistant: Any) -> None:
    opened, _, _ = assistant
    shown = {(device.name, device.room, device.kind) for device in opened.home.devices()}
    assert shown == {
        ("Hall light", "Hall", "light"),
        ("Big door", "Garage", "cover"),
        ("Heating", "", "climate"),
        ("Box", "", "media"),
        ("Outside", "", "sensor"),
    }
    assert await opened.said("home.state", device="outside") == "The Outside says 7.5 degrees."
    assert await opened.said("home.state", device="heating") == (
        "The Heating is on, set to 19 degrees, measures 18.5 degrees."
    )


async def test_what_home_assistant_confirms_is_done(assistant: Any) -> None:
    opened, small, _ = assistant
    assert await opened.said("home.set", device="hall light", brightness=50) == "The Hall light is now at 50 percent."
    assert (
        await opened.said("home.set", temperature=21.5, device="heating") == "The Heating is now set to 21.5 degrees."
    )
    assert await opened.said("home.pause", device="box") == "The Box is now paused."
    assert small.called == [
        ("light.hall", "turn_on", {"brightness_pct": 50}),
        ("climate.all", "set_temperature", {"temperature": 21.5}),
        ("media_player.box", "media_pause", {}),
    ]


async def test_a_satellite_of_home_assistant_says_what_the_house_has_to_say(data: Path) -> None:
    bedside, porch = (f"assist_satellite.{name}" for name in ("bedside", "porch"))
    more = [entity(bedside, "idle", "Bedside"), entity(porch, "unavailable", "Porch")]
    async with assisted(data, more_things=more) as (opened, small, _):
        assert (await opened.agreed("home.satellites")).data == {"satellites": [bedside]}
        await opened.agreed("home.say", satellite=bedside, words="Dinner is ready.")
        assert small.called == [(bedside, "announce", {"message": "Dinner is ready."})]
        with pytest.raises(ToolFailed, match="not there"):
            await opened.agreed("home.say", satellite=porch, words="Dinner is ready.")


async def test_the_garage_opens_only_with_a_yes_by_whatever_name_and_way(assistant: Any) -> None:
    opened, small, _ = assistant
    for tool, words in (("home.open", {"device": "big door"}), ("home.open", {"room": "garage", "kind": "cover"})):
        refused = await opened.call(tool, **words)
        assert (refused.error, refused.data["use"]) == ("denied", "home.unlock")
    query = await opened.call("home.unlock", device="big door")
    assert (query.error, small.called) == ("confirm", [])
    assert query.text.startswith("Open the Big door in the Garage?")
    done = await opened.agreed("home.unlock", device="big door")
    assert done.text == "The Big door in the Garage is opening."
    assert await opened.said("home.close", device="big door") == "The Big door in the Garage is closing."


async def test_taking_back_a_closed_garage_does_not_open_it(assistant: Any) -> None:
    opened, small, _ = assistant
    await opened.agreed("home.unlock", device="big door")
    closed = await opened.call("home.close", device="big door")
    small.states["cover.door"]["state"] = "closed"
    opened.home.ha._states["cover.door"] = small.states["cover.door"]
    undone = await opened.call("history.undo", receipt=closed.receipt.id)
    assert (undone.error, small.called[-1][1]) == ("denied", "close_cover")


async def test_taking_back_a_pause_is_playing_and_so_is_forbidden_to_whom_playing_is(assistant: Any) -> None:
    opened, small, _ = assistant
    paused = await opened.call("home.pause", role="child", device="box")
    assert (paused.error, paused.receipt and paused.receipt.undo) == (None, True), paused.text
    undone = await opened.call("history.undo", role="child", receipt=paused.receipt.id)
    assert (undone.error, undone.text) == ("denied", "Children play no music.")
    assert small.called[-1][1] == "media_pause"
    undone = await opened.call("history.undo", receipt=paused.receipt.id)
    assert (undone.error, undone.text) == (None, "The Box is now playing.")


async def test_a_blind_is_meant_by_its_room_alone_and_all_of_them_only_when_that_is_said(assistant: Any) -> None:
    opened, small, _ = assistant

    def shade(name: str) -> None:
        small.states[f"cover.{name}"] = entity(f"cover.{name}", "open", name)
        opened.home.ha._states[f"cover.{name}"] = small.states[f"cover.{name}"]

    shade("shade")
    assert await opened.said("home.close") == "The shade is closing."  # a garage door is no blind
    shade("awning")
    unsaid = await opened.call("home.close")
    assert unsaid.text == "In which room? For the whole house, say all the blinds in the house."
    assert await opened.said("home.close", everything=True) == "The awning is closing."
    assert [call[:2] for call in small.called] == [("cover.shade", "close_cover"), ("cover.awning", "close_cover")]
    assert await opened.said("home.open", everything=True) == "2 blinds are opening."  # and not the garage
    assert await opened.said("home.pause", everything=True) == "The Box is now paused."


FULLER = [
    entity("vacuum.rob", "docked", "Rob", supported_features=8192 | 16 | 16384),
    entity("lawn_mower.max", "docked", "Max", supported_features=7),
    entity("valve.tap", "closed", "Tap", supported_features=7, current_position=0),
    entity("fan.hall", "on", "Hall fan", supported_features=1 | 8, percentage=33, percentage_step=33.3),
    entity("script.night", "off", "Good night"),
    entity("input_boolean.tree", "off", "Tree"),
    entity("binary_sensor.window", "on", "Hall window", device_class="window"),
    entity("person.anna", "home", "Anna"),
    entity("person.ben", "School", "Ben"),
    entity("device_tracker.phone", "home", "Phone of Anna"),
    entity("media_player.box", "playing", "Box", supported_features=4 | 8 | 16 | 32 | 512 | 16384 | 4194304),
]  # fmt: skip


async def test_everything_else_of_home_assistant_is_understood_and_told_by_its_services(assistant: Any) -> None:
    opened, small, _ = assistant
    for thing in FULLER:
        small.states[thing["entity_id"]] = thing
        opened.home.ha._states[thing["entity_id"]] = thing
    small.aliases |= {"vacuum.rob": ["dust eater"], "light.hall": ["big lamp"]}
    opened.home.ha._stale.set()
    await opened.until(lambda: any(device.aliases for device in opened.home.devices()))
    small.deaf = False
    await opened.said("home.clean", device="dust eater")
    await opened.said("home.clean", room="corridor")
    for tool, words in (
        ("home.dock", {}),
        ("home.mow", {}),
        ("home.open", {"kind": "valve"}),
        ("home.set", {"speed": 66}),
        ("home.scene", {"name": "good night"}),
        ("home.turn", {"on": True, "device": "tree"}),
        ("home.next", {}),
        ("home.mute", {}),
        ("home.play", {"query": "the Beatles", "media_class": "artist"}),
    ):
        done = await opened.call(tool, **words)
        assert done.error is None, (tool, done.text)
    assert small.called == [
        ("vacuum.rob", "start", {}),
        ("vacuum.rob", "clean_area", {"cleaning_area_id": ["hall"]}),
        ("vacuum.rob", "return_to_base", {}),
        ("lawn_mower.max", "start_mowing", {}),
        ("valve.tap", "open_valve", {}),
        ("fan.hall", "set_percentage", {"percentage": 66}),
        ("script.night", "turn_on", {}),
        ("input_boolean.tree", "turn_on", {}),
        ("media_player.box", "media_next_track", {}),
        ("media_player.box", "volume_mute", {"is_volume_muted": True}),
        ("media_player.box", "play_media", {"media_content_id": "id of the Beatles", "media_content_type": "artist"}),
    ]
    assert await opened.said("home.state", quantity="any", shape="window", value="open") == (
        "Yes, the Hall window is open."
    )
    assert await opened.said("presence.where") == "Anna is at home. Ben is at School."
    assert await opened.said("home.turn", on=True, kind="light", floor="downstairs") == "The Hall light is now on."


async def test_half_is_half_of_what_is(assistant: Any) -> None:
    opened, _, _ = assistant
    await opened.said("home.set", device="hall light", brightness=80)
    assert await opened.said("home.adjust", device="hall light", what="brightness", times=0.5) == (
        "The Hall light is now at 40 percent."
    )


async def test_a_home_assistant_that_counts_in_fahrenheit_is_told_and_answers_so(data: Path) -> None:
    async with assisted(data, unit="°F") as (opened, small, _):
        small.states["climate.all"]["attributes"] |= {"temperature": 66, "current_temperature": 68}
        opened.home.ha._states["climate.all"] = small.states["climate.all"]
        assert await opened.said("home.set", temperature=70) == "The Heating is now set to 70 degrees."
        assert small.called == [("climate.all", "set_temperature", {"temperature": 70})]
        assert await opened.said("home.state", device="heating", measure="temperature") == (
            "The temperature of the Heating is 68 degrees."
        )


EXAMPLES = "\n".join(line[4:] for line in POLICY.read_text().splitlines() if line.startswith("#   "))
EXAMPLES = EXAMPLES[EXAMPLES.index("[[rule]]") :]
NINE = datetime(2026, 11, 22, 21, tzinfo=UTC).timestamp()


async def test_the_examples_of_the_rules_do_what_they_say(data: Path) -> None:
    clock = [NINE - 60]
    rooms = "[home.rooms]\nbox = \"Kids' bedroom\"\n'hall light' = \"Kids' bedroom\"\n"
    async with assisted(data, rooms, rules=EXAMPLES, now=lambda: clock[0]) as (opened, small, _):
        assert await opened.said("home.pause", device="box") == "The Box in the Kids' bedroom is now paused."
        assert await opened.said("home.play", device="box") == "The Box in the Kids' bedroom is now playing."
        await opened.said("home.pause", device="box")
        clock[0] = NINE
        done = len(small.called)
        for tool, words in (
            ("home.play", {"device": "box"}),
            ("home.play", {"room": "kids' bedroom"}),
            ("home.play", {"everything": True}),
            ("home.turn", {"device": "box", "on": True}),
        ):
            refused = await opened.call(tool, **words)
            assert (refused.error, refused.text) == ("denied", "There is no music in the kids' rooms after nine.")
        refused = await opened.call("home.play", here="Kids' bedroom")
        assert refused.text == "There is no music in the kids' rooms after nine."
        assert len(small.called) == done
        assert await opened.said("home.turn", device="hall light", on=True)
        off = await opened.call("home.turn", device="box", on=False)
        assert off.text == "The Box in the Kids' bedroom is now off."
        back = await opened.call("history.undo", receipt=off.receipt.id)
        assert (back.error, back.text) == ("denied", "There is no music in the kids' rooms after nine.")
        for tool in ("home.open", "home.close", "home.unlock"):
            refused = await opened.call(tool, role="child", device="big door")
            assert refused.error == "denied", refused.text
        refused = await opened.call("home.close", role="child", device="big door")
        assert refused.text == "Children leave the garage door alone."
        assert (await opened.call("home.unlock", device="big door")).error == "confirm"


async def test_a_connection_that_breaks_is_made_again(assistant: Any) -> None:
    opened, small, _ = assistant
    await anyio.to_thread.run_sync(small.connections[0].close)
    await opened.until(lambda: not opened.home.ha.connected)
    assert "cannot be reached" in (await opened.call("home.turn", on=True, device="hall light")).text
    await opened.until(lambda: opened.home.ha.connected)
    assert await opened.said("home.turn", on=True, device="hall light") == "The Hall light is now on."


async def test_what_home_assistant_would_never_say_is_dropped_and_the_house_goes_on(assistant: Any) -> None:
    opened, small, _ = assistant
    odd = [
        {"type": "result", "id": []},
        {"type": "result", "id": 10**400},
        {"type": "event", "event": {"event_type": "state_changed", "data": {"entity_id": []}}},
        *(
            {"type": "event", "event": {"event_type": "state_changed", "data": {"entity_id": id, "new_state": state}}}
            for id, state in (
                ("light.odd", entity("light.odd", "on", "Odd", brightness=float("inf"), color_temp_kelvin=10**400)),
                ("media_player.odd", entity("media_player.odd", "on", "Odd player", volume_level=float("nan"))),
                ("climate.odd", entity("climate.odd", "heat", "Odd heating", temperature=10**400, min_temp=10**400)),
            )
        ),
    ]
    for message in odd:
        await anyio.to_thread.run_sync(small.connections[0].send, json.dumps(message))
    assert await opened.said("home.turn", on=True, device="hall light") == "The Hall light is now on."
    assert {"Odd", "Odd player", "Odd heating"} <= {device.name for device in opened.home.devices()}


async def test_rows_of_home_assistants_registries_that_name_nothing_are_passed_over(data: Path) -> None:
    rows = {
        "area": [{"area_id": [], "name": "x"}, {"area_id": "attic", "name": "Attic", "floor_id": {}}],
        "entity": [{"entity_id": "light.hall", "area_id": {}, "device_id": []}, {"entity_id": None}],
        "floor": [{"floor_id": []}],
    }
    async with assisted(data, registries=rows) as (opened, _, _):
        assert "Hall light" in {device.name for device in opened.home.devices()}
        assert "Attic" in {room.name for room in opened.home.plan().rooms}
