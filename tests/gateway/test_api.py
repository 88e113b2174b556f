"""The house's own API: what pages read and change goes through the gate, in one shape, and no further."""

from __future__ import annotations

import logging
import time
import tomllib
from dataclasses import replace
from urllib.parse import quote

import anyio
import pytest

from atlas.conversation import HOUSE, Actor, Turn, fresh_id
from atlas.egress import EgressRecord, Tunnel
from atlas.errors import EngineError, StoreError
from atlas.gateway.api.turns import nearest_rank
from atlas.models import machine_load
from atlas.recent_log import RecentLog
from atlas.store.devices import TERMINAL
from tests.gateway.api_house import api_house
from tests.gateway.test_setting_forms import settings_of
from wall.patterns import fits_any

LONG_NOTE = "# Boiler\n\n" + "\n".join(f"- line {number} of *many*" for number in range(300))  # over 1,900 characters


@pytest.mark.parametrize(("chosen", "zone"), [("Pacific/Auckland", "Pacific/Auckland"), ("", "Europe/Berlin")])
async def test_me_tells_by_which_clock_the_house_goes(config, data, monkeypatch, chosen, zone):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    config = replace(config, house=replace(config.house, timezone=chosen))
    async with api_house(config, data) as world, world.http("child") as http:
        assert (await http.get("/api/me")).json()["timezone"] == zone


async def test_me_tells_who_the_house_takes_the_caller_for(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        me = (await http.get("/api/me")).json()
        assert (me["role"], me["device"], me["room"], me["agents"]) == ("adult", "the adult", "Kitchen", ["family"])
        assert {"reside", "unlock"} <= set(me["rights"])
        assert "manage" not in me["rights"]
        async with world.http("owner") as owner, world.http("guest") as guest:
            assert (await owner.get("/api/me")).json()["agents"] == ["family", "work"]
            assert (await guest.get("/api/me")).json()["rights"] == []


async def test_a_timer_is_started_paused_made_longer_and_cancelled_by_its_id(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        started = await http.post("/api/timers", json={"seconds": 600, "name": "pizza"})
        assert started.status_code == 201, started.text
        timer = started.json()["timer"]
        assert (timer["name"], timer["room"], timer["state"]) == ("pizza", "Kitchen", "running")
        assert started.json()["receipt"]["changed"]
        where = f"/api/timers/{timer['id']}"
        assert (await http.patch(where, json={"paused": True})).json()["timer"]["state"] == "paused"
        assert (await http.patch(where, json={"by_seconds": 60})).json()["timer"]["left_seconds"] > 630
        assert (await http.patch(where, json={"paused": False})).json()["timer"]["state"] == "running"
        assert [one["id"] for one in (await http.get("/api/timers")).json()["timers"]] == [timer["id"]]
        assert (await http.delete(where)).json()["sentence"] == "Pizza timer cancelled."
        gone = await http.delete(where)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")
        assert gone.json()["error"]["sentence"] == "There are no timers."


async def test_an_alarm_is_set_switched_off_and_cancelled_by_its_id(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        reply = await http.post("/api/alarms", json={"when": "every weekday at 6:30"})
        assert reply.status_code == 201, reply.text
        [alarm] = (await http.get("/api/alarms")).json()["alarms"]
        where = f"/api/alarms/{alarm['id']}"
        off = await http.patch(where, json={"on": False})
        assert off.status_code == 200, off.text
        assert (await http.get("/api/alarms")).json()["alarms"][0]["state"] == "off"
        assert (await http.patch(where, json={"on": True})).status_code == 200
        assert (await http.post(f"{where}/skip")).status_code == 200
        assert (await http.patch(where, json={"when": "half past seven"})).status_code == 200
        assert (await http.delete(where)).status_code == 200
        assert (await http.get("/api/alarms")).json()["alarms"] == []


async def test_a_reminder_is_added_changed_and_finished_by_its_id(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        added = await http.post("/api/reminders", json={"text": "call mum", "when": "tomorrow at eight"})
        assert added.status_code == 201, added.text
        reminder = added.json()["reminder"]
        where = f"/api/reminders/{reminder['id']}"
        changed = await http.patch(where, json={"text": "call dad"})
        assert changed.json()["reminder"]["text"] == "call dad", changed.text
        assert (await http.post(f"{where}/snooze", json={"minutes": 5})).status_code == 200
        assert (await http.post(f"{where}/done")).status_code == 200
        assert (await http.get("/api/reminders")).json()["reminders"] == []


async def test_the_owner_sees_how_surely_a_turn_was_heard_and_no_words(config, data):
    async with api_house(config, data) as world, world.http("owner") as http:
        actor = await world.devices.find(world.tokens["adult"])

        async def emit(event):
            pass

        typed = Turn(fresh_id("turn"), "why is the sky blue", actor, time.time(), agent="family")
        margins = (("why is the sky blue", 0.0), ("why is the guy blue", 0.2), ("why's this guy blue", 0.4))
        others = tuple(text for text, _ in margins[1:])
        spoken = replace(typed, id=fresh_id("turn"), channel="voice", alternatives=others, margins=margins)
        for turn in (typed, spoken):
            await world.house.reply(turn, emit)
        reply = await http.get("/api/turns")
        heard = {"doubtful": False, "rivals": 2, "questions": 0, "margin": 0.2}
        assert [turn["heard"] for turn in reply.json()["turns"]] == [heard, None]
        assert "guy" not in reply.text


async def test_what_cannot_be_is_refused_in_one_shape(config, data):
    async with api_house(config, data) as world, world.http("adult") as http, world.http(None) as stranger:
        for reply, status, code in (
            (await http.post("/api/timers", json={"seconds": 0}), 422, "invalid_value"),
            (await http.post("/api/timers", json={"seconds": 5, "sconds": 1}), 422, "invalid_value"),
            (await http.post("/api/reminders", json={"text": "tea", "when": "x" * 101}), 422, "text_too_long"),
            (await http.post("/api/timers", content=b"{", headers={"content-type": "application/json"}), 400, None),
            (await http.post("/api/timers", json={"seconds": 5, "name": "x" * 300_000}), 413, "request_too_large"),
            (await http.get("/api/nothing"), 404, "not_found"),
            (await http.put("/api/timers", json={}), 405, "method_not_allowed"),
            (await http.get("/api/timers?agent=work"), 403, "forbidden"),
            (await http.get("/api/timers?agent=nobody"), 404, "model_not_found"),
            (await stranger.get("/api/timers"), 401, "invalid_api_key"),
            (await http.get("/api/timers", headers={"host": "evil.example"}), 421, "misdirected_request"),
        ):
            assert reply.status_code == status, reply.text
            error = reply.json()["error"]
            assert set(error) == {"code", "sentence", "hint", "field", "details"}
            assert error["code"] == (code or "invalid_json")
            assert error["sentence"].endswith(".")


async def test_a_light_is_switched_dimmed_and_put_back(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        home = (await http.get("/api/home")).json()
        assert {"Kitchen", "Bedroom", "Hall"} <= {room["name"] for room in home["rooms"]}
        light = next(one for one in home["devices"] if one["name"] == "Ceiling")
        where = f"/api/home/devices/{light['id']}"
        on = (await http.patch(where, json={"on": True})).json()
        assert on["devices"][0]["state"]["on"] is True
        dimmed = await http.patch(where, json={"brightness": 70})
        assert dimmed.json()["devices"][0]["state"]["brightness"] == 70, dimmed.text
        undone = await http.post("/api/history/undo", json={"receipt": dimmed.json()["receipt"]["id"]})
        assert undone.status_code == 200, undone.text
        changes = (await http.get("/api/history")).json()["changes"]
        assert [change["undone"] for change in changes] == [False, True, False]
        both = await http.patch(where, json={"on": True, "brightness": 70})
        assert (both.status_code, both.json()["error"]["code"]) == (400, "invalid_value")
        assert (await http.post("/api/home/scenes/Movie night")).status_code == 200
        heater = await http.patch("/api/home/devices/Heater", json={"temperature": 21})
        assert heater.status_code == 200, heater.text


async def test_a_door_is_unlocked_only_after_a_yes(config, data):
    async with api_house(config, data) as world, world.http("adult") as http, world.http("child") as child:
        where = "/api/home/devices/Front Door"
        asked = await http.patch(where, json={"locked": False})
        assert asked.status_code == 202, asked.text
        ask = asked.json()["ask"]
        assert ask["sentence"] == "Unlock the Front Door in the Hall?"
        assert 0 < ask["seconds_left"] <= 60

        async def is_locked():
            devices = (await http.get("/api/home")).json()["devices"]
            return next(one for one in devices if one["kind"] == "lock")["state"]["locked"]

        assert await is_locked()
        [waiting] = (await http.get("/api/asks")).json()["asks"]
        assert (waiting["id"], waiting["mine"], waiting["device"]) == (ask["id"], True, "the adult")
        assert (await child.get("/api/asks")).json()["asks"] == []
        assert (await child.post(f"/api/asks/{ask['id']}", json={"answer": "yes"})).status_code == 404
        assert (await http.post(f"/api/asks/{ask['id']}", json={"answer": "perhaps"})).status_code == 422
        answered = await http.post(f"/api/asks/{ask['id']}", json={"answer": "yes"})
        assert answered.status_code == 200, answered.text
        assert answered.json()["sentence"] == "The Front Door in the Hall is now unlocked."
        assert not await is_locked()
        assert (await http.post(f"/api/asks/{ask['id']}", json={"answer": "yes"})).status_code == 404
        assert (await child.patch(where, json={"locked": False})).json()["error"]["code"] == "denied"


async def test_a_no_does_nothing(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        ask = (await http.patch("/api/home/devices/Front Door", json={"locked": False})).json()["ask"]
        refused = await http.post(f"/api/asks/{ask['id']}", json={"answer": "no"})
        assert refused.status_code == 200, refused.text
        devices = (await http.get("/api/home")).json()["devices"]
        assert next(one for one in devices if one["kind"] == "lock")["state"]["locked"]
        assert (await http.get("/api/asks")).json()["asks"] == []


async def test_a_list_is_filled_ticked_off_and_cleared(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        added = await http.post("/api/lists/shopping/items", json={"items": ["milk", "bread"]})
        assert (added.status_code, added.json()["added"]) == (201, ["milk", "bread"])
        assert (await http.post("/api/lists/shopping/check", json={"items": ["milk"]})).json()["checked"] == ["milk"]
        items = (await http.get("/api/lists/shopping")).json()["items"]
        assert items == [{"text": "milk", "checked": True}, {"text": "bread", "checked": False}]
        assert (await http.get("/api/lists")).json()["lists"] == [{"name": "shopping", "left": 1}]
        assert (await http.post("/api/lists/shopping/remove", json={"items": ["bread"]})).json()["removed"] == ["bread"]
        asked = await http.delete("/api/lists/shopping/items")
        assert asked.status_code == 202
        await http.post(f"/api/asks/{asked.json()['ask']['id']}", json={"answer": "yes"})
        assert (await http.get("/api/lists/shopping")).json()["items"] == []


async def test_the_house_says_how_a_list_is_called_and_takes_apart_what_is_put_on_it(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        for typed, name in (("Hardware Store!", "hardware store"), ("my hardware store list", "hardware store")):
            made = await http.post("/api/lists", json={"name": typed})
            assert (made.status_code, made.json()["name"]) == (201, name), made.text
        refused = await http.post("/api/lists", json={"name": ".."})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
        added = await http.post("/api/lists/hardware store/items", json={"items": ["nails, wire and a hook"]})
        assert added.json()["added"] == ["nails", "wire", "a hook"]
        async with world.http("guest") as guest:
            assert (await guest.post("/api/lists", json={"name": "mine"})).json()["error"]["code"] == "denied"


async def test_a_whole_list_is_deleted_after_a_yes_and_comes_back_whole(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        await http.post("/api/lists/picnic/items", json={"items": ["a rug", "plums"]})
        asked = await http.delete("/api/lists/picnic")
        assert asked.status_code == 202, asked.text
        assert asked.json()["ask"]["sentence"] == "Delete the picnic list with 2 things: a rug and plums?"
        await http.post(f"/api/asks/{asked.json()['ask']['id']}", json={"answer": "no"})
        asked = await http.delete("/api/lists/picnic")  # who said no before may think again
        assert asked.status_code == 202, asked.text
        gone = await http.post(f"/api/asks/{asked.json()['ask']['id']}", json={"answer": "yes"})
        assert gone.json()["sentence"] == "Deleted the picnic list."
        assert (await http.get("/api/lists/picnic")).status_code == 404
        await http.post("/api/history/undo", json={"receipt": gone.json()["receipt"]["id"]})
        assert [item["text"] for item in (await http.get("/api/lists/picnic")).json()["items"]] == ["a rug", "plums"]
        refused = await http.delete("/api/lists/shopping")
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
        async with world.http("guest") as guest:
            assert (await guest.delete("/api/lists/picnic")).json()["error"]["code"] == "denied"


async def test_a_task_moves_over_the_board_by_its_id(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        await http.post("/api/tasks", json={"title": "paint the fence"})
        task = (await http.post("/api/tasks", json={"title": "paint the fence", "priority": "high"})).json()["task"]
        assert task["column"] == "todo"
        where = f"/api/tasks/{task['id']}"
        assert (await http.patch(where, json={"column": "done"})).json()["task"]["id"] == task["id"]
        assert (await http.patch(where, json={"title": "paint the gate"})).json()["task"]["title"] == "paint the gate"
        board = (await http.get("/api/tasks")).json()
        assert board["columns"] == ["backlog", "todo", "doing", "done"]
        assert {(one["title"], one["column"]) for one in board["tasks"]} == {
            ("paint the fence", "todo"),
            ("paint the gate", "done"),
        }
        asked = await http.delete(where)
        assert asked.status_code == 202, asked.text
        assert "paint the gate" in asked.json()["ask"]["sentence"]


async def test_a_note_is_written_found_read_and_edited(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        note = (await http.post("/api/notes", json={"title": "Boiler", "text": "Valve left of it."})).json()["note"]
        about = {"note": note["file"]}
        assert (await http.get("/api/notes/note", params=about)).json()["text"] == "Valve left of it."
        [match] = (await http.get("/api/notes/search", params={"q": "valve"})).json()["matches"]
        assert match["title"] == "Boiler"
        assert [one["file"] for one in (await http.get("/api/notes")).json()["notes"]] == [note["file"]]
        revision = (await http.get("/api/notes/note", params=about)).json()["revision"]
        edited = await http.put("/api/notes/note", params=about, json={"text": LONG_NOTE, "revision": revision})
        assert edited.status_code == 200, edited.text
        assert (await http.get("/api/notes/note", params=about)).json()["text"] == LONG_NOTE
        await http.post("/api/history/undo", json={"receipt": edited.json()["receipt"]["id"]})
        assert (await http.get("/api/notes/note", params=about)).json()["text"] == "Valve left of it."
        async with world.http("guest") as guest:
            assert (await guest.get("/api/notes")).json()["error"]["code"] == "denied"


async def test_a_long_note_is_edited_whole_and_one_that_is_too_long_is_refused_as_it_was(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        about = {"note": (await http.post("/api/notes", json={"title": "Diary"})).json()["note"]["file"]}

        async def write(text):
            revision = (await http.get("/api/notes/note", params=about)).json()["revision"]
            return await http.put("/api/notes/note", params=about, json={"text": text, "revision": revision})

        days = "\n".join(f"- Tag {number}: Süßes für die Füchse 🦊" for number in range(2_000))
        for text in (days[:8_001].strip(), days[:60_000].strip()):
            edited = await write(text)
            assert edited.status_code == 200, edited.text
            read = (await http.get("/api/notes/note", params=about)).json()
            assert (read["text"], read["truncated"]) == (text, False)
        refused = await write(days[:60_000] + "!")
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "text_too_long")
        assert (await http.get("/api/notes/note", params=about)).json()["text"] == text


async def test_of_two_who_edit_a_note_at_once_the_second_is_told_and_nothing_is_lost(config, data):
    async with api_house(config, data) as world, world.http("adult") as one, world.http("teen") as other:
        note = (await one.post("/api/notes", json={"title": "Party", "text": "Balloons."})).json()["note"]
        about = {"note": note["file"]}
        revision = (await one.get("/api/notes/note", params=about)).json()["revision"]
        mine = {"text": "Balloons, and a cake.", "revision": revision}
        assert (await one.put("/api/notes/note", params=about, json=mine)).status_code == 200
        refused = await other.put("/api/notes/note", params=about, json={"text": "No balloons.", "revision": revision})
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (409, "edited_meanwhile")
        assert error["sentence"] == "Somebody else has changed Party meanwhile."
        assert error["details"]["text"] == "Balloons, and a cake."
        assert (await one.get("/api/notes/note", params=about)).json()["text"] == "Balloons, and a cake."
        both = {"text": "A cake, no balloons.", "revision": error["details"]["revision"]}
        assert (await other.put("/api/notes/note", params=about, json=both)).status_code == 200
        assert (await other.put("/api/notes/note", params=about, json=both | {"revision": "odd"})).status_code == 200
        assert (await other.put("/api/notes/note", params=about, json={"text": "x"})).status_code == 422


async def test_an_event_of_a_series_is_moved_alone_by_its_id_and_day(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        new = {"title": "Chess", "start": "2026-12-01T18:00", "repeat": "every week"}
        added = await http.post("/api/calendar", json=new)
        assert added.status_code == 201, added.text
        month = {"from": "2026-12-01", "to": "2026-12-31"}
        events = (await http.get("/api/calendar", params=month)).json()["events"]
        assert len(events) == 5
        assert len({one["id"] for one in events}) == 1
        where = f"/api/calendar/{events[1]['id']}"
        moved = await http.patch(where, params={"day": "2026-12-08"}, json={"start": "2026-12-08T20:00"})
        assert moved.status_code == 200, moved.text
        starts = [one["start"][:16] for one in (await http.get("/api/calendar", params=month)).json()["events"]]
        assert starts[:3] == ["2026-12-01T18:00", "2026-12-08T20:00", "2026-12-15T18:00"]
        asked = await http.delete(where, params={"day": "2026-12-15"})
        assert asked.status_code == 202, asked.text
        await http.post(f"/api/asks/{asked.json()['ask']['id']}", json={"answer": "yes"})
        left = (await http.get("/api/calendar", params=month)).json()["events"]
        assert len(left) == 4


async def said(world, actor, *texts):
    """Have somebody say something, and wait for the answers."""
    for text in texts:

        async def emit(event):
            pass

        await world.house.reply(Turn(fresh_id("turn"), text, actor, time.time(), agent="family"), emit)


async def test_what_was_said_is_listed_searched_exported_and_forgotten_by_whom_it_belongs_to(config, data):
    async with api_house(config, data) as world, world.http("adult") as http, world.http("child") as child:
        adult = await world.devices.find(world.tokens["adult"])
        await said(world, adult, "why is the sky blue", "and the sea", "and the grass")
        rooms = (await http.get("/api/conversations")).json()["rooms"]
        assert [(room["room"], room["turns"]) for room in rooms] == [("Kitchen", 3)]
        last = (await http.get("/api/conversations/turns", params={"limit": 2})).json()
        assert [turn["messages"][0]["text"] for turn in last["turns"]] == ["and the sea", "and the grass"]
        assert last["more"]
        older = await http.get("/api/conversations/turns", params={"before": last["turns"][0]["number"]})
        assert [turn["messages"][0]["text"] for turn in older.json()["turns"]] == ["why is the sky blue"]
        [match] = (await http.get("/api/conversations/search", params={"q": "grass"})).json()["matches"]
        assert match["author"] == "user"
        exported = await http.get("/api/conversations/export", params={"format": "markdown"})
        assert "why is the sky blue" in exported.text
        for path in ("", "/turns", "/search?q=sky"):
            assert "sky" not in (await child.get(f"/api/conversations{path}")).text
        stolen = await child.get("/api/conversations/turns", params={"device": "the adult"})
        assert (stolen.status_code, stolen.json()["error"]["code"]) == (403, "forbidden")
        assert (await http.delete("/api/conversations")).status_code == 400
        assert (await http.delete("/api/conversations", params={"last": 1})).json()["exchanges"] == 1
        assert (await http.delete("/api/conversations", params={"everything": True})).json()["exchanges"] == 2
        assert (await http.get("/api/conversations")).json()["rooms"] == []


async def test_a_device_called_like_one_that_was_sent_away_gets_nothing_of_what_that_said_and_did(config, data):
    async with api_house(config, data) as world:
        first = await world.devices.create("Hall tablet", "adult")
        async with world.http(token=first) as http:
            await said(world, await world.devices.find(first), "what does a divorce lawyer cost")
            assert "lawyer" in (await http.get("/api/conversations/search?q=lawyer")).text
            started = (await http.post("/api/timers", json={"seconds": 600, "name": "pills"})).json()
            asked = (await http.patch("/api/home/devices/Front Door", json={"locked": False})).json()["ask"]
            assert asked["id"] in (await http.get("/api/asks")).text
        for role in ("adult", "guest"):
            await world.devices.revoke("Hall tablet")
            async with world.http(token=await world.devices.create("Hall tablet", role)) as http:
                for path in ("turns", "search?q=lawyer", "export"):
                    assert "lawyer" not in (await http.get(f"/api/conversations/{path}")).text
                forgotten = await http.delete("/api/conversations", params={"everything": True})
                assert forgotten.json()["exchanges"] == 0
                assert (await http.get("/api/history")).json()["changes"] == []
                undone = await http.post("/api/history/undo", json={"receipt": started["receipt"]["id"]})
                assert undone.json()["error"]["code"] == "not_found"
                assert await _cannot_answer(http, asked["id"])
        async with world.http() as owner:
            assert await _cannot_answer(owner, asked["id"])  # it ended with the token of who had asked
            left = {"device": "Hall tablet", "everything": True}
            assert (await owner.delete("/api/conversations", params=left)).json()["exchanges"] == 1


async def _cannot_answer(http, ask):
    pressed = await http.post(f"/api/asks/{ask}", json={"answer": "yes"})
    return (await http.get("/api/asks")).json()["asks"] == [] and pressed.json()["error"]["code"] == "not_found"


async def test_what_was_heard_and_done_comes_back_and_one_exchange_is_forgotten(config, data):
    async with api_house(config, data) as world, world.http("adult") as http, world.http("child") as child:
        actor = await world.devices.find(world.tokens["adult"])

        async def emit(event):
            pass

        spoken = Turn(fresh_id("turn"), "set a timer", actor, time.time(), channel="voice", agent="family")
        spoken = replace(spoken, alternatives=("set a tire",), possible=("set a timer", "stop a timer"), doubtful=True)
        spoken = replace(spoken, margins=(("set a timer", 0.0), ("set a tire", 0.25), ("set a tire", 0.5)))
        typed = Turn(fresh_id("turn"), "what colour is the sky", actor, time.time(), agent="family")
        for turn in (spoken, typed):
            await world.house.reply(turn, emit)
        first, second = (await http.get("/api/conversations/turns")).json()["turns"]
        assert first["readings"] == {
            "others": ["set a tire"],
            "possible": ["set a timer", "stop a timer"],
            "doubtful": True,
            "voice": "",
            "margins": {"set a timer": 0.0, "set a tire": 0.25},
        }
        [deed] = first["deeds"]
        assert (deed["tool"], deed["state"]) == ("timers.start", "done")
        assert deed["receipt"]
        assert deed["sentence"]
        assert (second["readings"], second["deeds"]) == (None, [])
        other = await child.delete(f"/api/conversations/turns/{second['turn']}")
        assert (other.status_code, other.json()["error"]["code"]) == (404, "not_found")  # the kitchen's is no child's
        gone = await http.delete(f"/api/conversations/turns/{spoken.id}")
        assert gone.json()["exchanges"] == 1, gone.text
        [left] = (await http.get("/api/conversations/turns")).json()["turns"]
        assert left["turn"] == typed.id


async def test_a_device_that_is_sent_away_while_it_is_moved_is_not_there(config, data, monkeypatch):
    async with api_house(config, data) as world, world.http("owner") as http:
        await world.devices.create("mias phone", "child", "Mia")
        change = world.devices.change

        async def change_and_revoke(name: str, **more: object) -> bool:
            is_written = await change(name, **more)
            await world.devices.revoke(name)
            return is_written

        monkeypatch.setattr(world.devices, "change", change_and_revoke)
        moved = await http.patch("/api/devices/mias phone", json={"person": "Mia", "room": "Attic"})
        assert (moved.status_code, moved.json()["error"]["code"]) == (404, "not_found")


async def test_an_owner_says_that_it_is_the_same_person_before_another_device_reads_their_words(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner, world.http("adult") as adult:
        await world.devices.create("mias phone", "child", "Mia")
        await world.devices.create("tablet", "guest")
        wish = {"name": "new phone", "role": "adult", "person": "mia"}
        ways = [("POST", "/api/pairing", wish), ("PATCH", "/api/devices/tablet", {"person": "mia"})]
        for method, path, body in ways:
            refused = await owner.request(method, path, json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "person_known")
            assert "read all that they ever said" in refused.json()["error"]["sentence"]
            assert (await adult.request(method, path, json=body | {"same_person": True})).status_code == 403
        for method, path, body in ways:
            assert (await owner.request(method, path, json=body | {"same_person": True})).is_success


async def test_an_invitation_is_not_opened_under_a_name_that_people_take_for_anothers(config, data):
    async with api_house(config, data) as world, world.http() as http:
        await world.devices.create("Mia's tablet", "child")
        for name in ("mia’s tablet", "Ｍia's tablet"):
            refused = await http.post("/api/pairing", json={"name": name, "role": "guest"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "name_taken"), name


async def test_the_owner_sees_devices_people_and_rooms_moves_one_and_sends_one_away(config, data):
    async with api_house(config, data) as world, world.http("owner") as http, world.http("adult") as adult:
        await world.devices.create("mias phone", "child", "Mia")
        names = {one["name"]: one for one in (await http.get("/api/devices")).json()["devices"]}
        assert names["the owner"]["mine"]
        assert (names["mias phone"]["person"], names["mias phone"]["used"]) == ("Mia", None)
        [mia] = (await http.get("/api/people")).json()["people"]
        assert (mia["name"], mia["roles"], mia["devices"]) == ("Mia", ["child"], ["mias phone"])
        given = await http.patch("/api/devices/mias phone", json={"person": "Mia"})
        assert (given.json()["person"], given.json()["room"]) == ("Mia", given.json()["room"])
        assert (await http.patch("/api/devices/nobodys", json={"person": "Mia"})).status_code == 404
        assert (await http.patch("/api/devices/mias phone", json={"person": "7 of 9!"})).status_code == 400
        before = await world.devices.list()
        odd = await http.patch("/api/devices/mias phone", json={"person": "Yan", "room": "??"})
        assert (odd.status_code, odd.json()["error"]["code"]) == (400, "invalid_room")
        assert await world.devices.list() == before, "all of a change or nothing"
        moved = await http.patch("/api/devices/mias phone", json={"room": "Attic"})
        assert moved.json()["room"] == "Attic"
        rooms = {room["name"]: room["devices"] for room in (await http.get("/api/rooms")).json()["rooms"]}
        assert (rooms["Kitchen"], rooms["attic"]) == (["the adult"], ["mias phone"])
        plays = {room["name"] for room in (await http.get("/api/rooms")).json()["rooms"] if room["plays"]}
        assert plays == {"Kitchen", "attic"}, "in the bedroom and the hall nothing ever could"
        assert (await http.delete("/api/devices/mias phone")).status_code == 204
        assert (await http.delete("/api/devices/mias phone")).status_code == 404
        assert (await http.delete("/api/devices/the owner")).status_code == 400
        assert (await adult.get("/api/devices")).status_code == 403
        assert (await adult.delete("/api/devices/the child")).status_code == 403


async def test_the_owner_sees_what_is_connected_and_where_somebody_talks_and_nobody_else_does(config, data):
    async def take(text):
        pass

    async with api_house(config, data) as world, world.http("owner") as owner, world.http("adult") as adult:
        tom = await world.devices.find(await world.devices.create("Tom's phone", "adult", "Tom"))
        world.chat.goes_on = anyio.Event()

        async def present():
            return {one["name"]: one for one in (await owner.get("/api/rooms/present")).json()["devices"]}

        with world.house.speaking_device("kitchen pi", "Kitchen", take):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(said, world, tom, "tell me a story")
                with anyio.fail_after(10):
                    while not world.chat.turns:
                        await anyio.lowlevel.checkpoint()
                assert await present() == {
                    "kitchen pi": {"name": "kitchen pi", "room": "Kitchen", "talking": False, "person": ""},
                    "Tom's phone": {"name": "Tom's phone", "room": "", "talking": True, "person": "Tom"},
                }
                world.chat.goes_on.set()
            assert list(await present()) == ["kitchen pi"]
        assert await present() == {}
        assert (await adult.get("/api/rooms/present")).status_code == 403


async def test_a_device_with_another_name_is_the_same_device_to_all_that_refers_to_it(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data, '[agents.work]\ndevices = ["Study", "tablet"]\n')
        rule = {"then": "deny", "because": "No timers there.", "tools": ["timers.start"], "devices": ["Tablet", "hall"]}
        assert (await owner.put("/api/rules/no-timers", json=rule)).status_code == 200
        await world.house.wakes.set_threshold("Tablet", "hey atlas", 0.6)
        token = await world.devices.create("Tablet", "adult")
        before = await world.devices.find(token)
        await said(world, before, "what does a divorce lawyer cost")
        async with world.http(token=token) as http:
            assert (await http.post("/api/alarms", json={"when": "7 AM"})).status_code == 201
        renamed = (await owner.patch("/api/devices/tablet", json={"name": "Mia's tablet"})).json()
        assert (renamed["name"], renamed["role"], renamed["by_hand"]) == ("Mia's tablet", "adult", [])

        after = await world.devices.find(token)
        assert after == replace(before, device="Mia's tablet")
        assert tomllib.loads((data / "policy.toml").read_text())["rule"][-1]["devices"] == ["Mia's tablet", "hall"]
        assert tomllib.loads((data / "atlas.toml").read_text())["agents"]["work"]["devices"] == [
            "Study",
            "Mia's tablet",
        ]
        assert world.house.config.agents["work"].devices == ("Study", "Mia's tablet"), "the router goes by it at once"
        assert world.house.wakes.thresholds("Mia's tablet") == {"hey atlas": 0.6}
        async with world.http(token=token) as http:
            turns = (await http.get("/api/conversations/turns")).json()["turns"]
            assert [turn["device"] for turn in turns] == ["Tablet"], "what is past has the name of then"
            assert [one["tool"] for one in (await http.get("/api/history")).json()["changes"]] == ["alarms.set"]
        async with world.http(token=await world.devices.create("Tablet", "adult")) as http:
            assert (await http.get("/api/conversations/turns")).json()["turns"] == []
            assert (await http.get("/api/history")).json()["changes"] == []


async def test_a_name_that_no_device_may_get_changes_nothing(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner, world.http("adult") as adult:
        await world.devices.create(TERMINAL, "owner")
        before = [(one.name, one.room) for one in await world.devices.list()]
        wrong = [("the adult", "THE CHILD"), ("the adult", "-x"), ("the adult", "x" * 41)]
        wrong += [(TERMINAL, "console"), (TERMINAL, TERMINAL.upper())]
        for device, name in wrong:
            refused = await owner.patch(f"/api/devices/{device}", json={"name": name, "room": "Attic"})
            assert refused.status_code == 400, refused.text
        assert (await adult.patch("/api/devices/the adult", json={"name": "boss"})).status_code == 403
        assert [(one.name, one.room) for one in await world.devices.list()] == before
        assert (await owner.patch("/api/devices/the adult", json={"name": "The adult"})).status_code == 200
        assert (await owner.patch("/api/devices/the owner", json={"name": "mine"})).json()["mine"]


async def test_at_no_moment_of_its_renaming_is_a_device_without_the_rules_about_it(config, data, monkeypatch):
    async with api_house(config, data) as world, world.http("owner") as owner:
        settings = world.house.settings = settings_of(data)
        token = await world.devices.create("Tablet", "child")
        for id, devices in (("by-name", ["TABLET"]), ("by-pattern", ["*blet", "hall"])):
            rule = {"then": "deny", "because": "No.", "tools": ["timers.start"], "devices": devices}
            assert (await owner.put(f"/api/rules/{id}", json=rule)).status_code == 200
        seen = []

        def rules():
            return [row["devices"] for row in tomllib.loads((data / "policy.toml").read_text())["rule"][-2:]]

        async def restart(_config):
            name = (await world.devices.find(token)).device
            seen.append((name, [fits_any(devices, name) for devices in rules()]))
            return ()

        monkeypatch.setattr(settings, "_restart", restart)
        assert (await owner.patch("/api/devices/tablet", json={"name": "Pad [attic]"})).status_code == 200
        assert seen == [("Tablet", [True, True]), ("Pad [attic]", [True, True])]
        assert rules() == [["Pad [[]attic]"], ["*blet", "hall", "Pad [[]attic]"]]
        assert (await owner.patch("/api/devices/Pad [attic]", json={"name": "Tablet"})).status_code == 200
        assert rules() == [["Tablet"], ["*blet", "hall", "Tablet"]]


async def test_of_two_renames_at_once_the_second_leaves_no_name_in_the_rules(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner:
        world.house.settings = settings_of(data)
        rule = {"then": "deny", "because": "No.", "tools": ["timers.start"], "devices": ["the adult"]}
        assert (await owner.put("/api/rules/no-timers", json=rule)).status_code == 200
        answers = dict[str, int]()

        async def rename(name: str) -> None:
            answers[name] = (await owner.patch("/api/devices/the adult", json={"name": name})).status_code

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rename, "phone")
            tasks.start_soon(rename, "pad")
        (first,) = [name for name, status in answers.items() if status == 200]
        assert sorted(answers.values()) == [200, 404]
        assert tomllib.loads((data / "policy.toml").read_text())["rule"][-1]["devices"] == [first]


@pytest.mark.parametrize("step", ["_restart", "change"], ids=["rules", "agents"])
async def test_a_device_keeps_its_name_and_its_rules_where_something_cannot_follow(config, data, monkeypatch, step):
    async with api_house(config, data) as world, world.http("owner") as owner:
        settings = world.house.settings = settings_of(data, '[agents.work]\ndevices = ["the adult"]\n')
        rule = {"then": "deny", "because": "No.", "tools": ["timers.start"], "devices": ["the adult"]}
        assert (await owner.put("/api/rules/no-timers", json=rule)).status_code == 200

        async def full(*_):
            raise StoreError("the disk is full")

        monkeypatch.setattr(settings, step, full)
        refused = await owner.patch("/api/devices/the adult", json={"name": "phone", "room": "Attic"})
        assert refused.status_code >= 400
        assert [(one.name, one.room) for one in await world.devices.list() if one.role == "adult"] == [
            ("the adult", "Kitchen")
        ]
        assert tomllib.loads((data / "policy.toml").read_text())["rule"][-1]["devices"] == ["the adult"]


async def test_the_owner_sees_how_long_answers_took_and_no_words(config, data):
    async with api_house(config, data) as world, world.http("owner") as http:
        await said(world, await world.devices.find(world.tokens["adult"]), "why is the sky blue", "and the sea")
        reply = await http.get("/api/turns")
        assert [turn["agent"] for turn in reply.json()["turns"]] == ["family", "family"]
        assert "route_ms" in reply.json()["turns"][0]["timings"]
        assert "sky" not in reply.text
        assert (await http.get("/api/turns", params={"before": 1_700_000_000})).json()["turns"] == []
        days = (await http.get("/api/turns/percentiles")).json()["days"]
        assert sum(day["turns"] for day in days) == 2
        assert {"route_ms", "whole"} <= {stage["stage"] for stage in days[0]["stages"]}


async def test_the_owner_sees_which_other_tool_servers_are_pinned_and_a_house_without_https_says_so(config, data):
    async with api_house(config, data) as world, world.http("owner") as http:
        assert (await http.get("/api/upstream")).json() == {"servers": []}
        assert (await http.get("/api/health/certificate")).json() == {"certificate": None}


async def test_the_owner_sees_usage_health_models_and_what_left_the_house(config, data):
    async with api_house(config, data) as world, world.http("owner") as http:
        usage = (await http.get("/api/usage")).json()["agents"]
        assert [one["agent"] for one in usage] == ["family", "work"]
        health = (await http.get("/api/health")).json()
        assert [(part["name"], part["ok"]) for part in health["parts"]] == [("tools", True), ("llm embedded", False)]
        world.house.models = frozenset({"all-minilm-l6-v2"})
        models = (await http.get("/api/models")).json()
        assert {one["role"] for one in models["models"]} >= {"llm", "stt", "tts"}
        assert {one["name"] for one in models["models"] if one["in_use"]} == {"all-minilm-l6-v2"}
        thinking = {one["name"]: one["chosen_for"] for one in models["models"] if one["chosen_for"]}
        assert thinking == {"smollm2-135m-instruct": ["family", "work"]}
        assert models["memory"][0]["free_bytes"] > 0
        assert (await http.get("/api/egress")).json()["connections"] == []
        record = EgressRecord(data / "egress.jsonl")
        barred, passed = (Tunnel(host, 443, {"pid": 7}) for host in ("evil.example", "api.open-meteo.com"))
        record.write("refused", barred, "not listed")
        record.write("opened", passed)
        passed.sent = 120
        record.write("closed", passed, "done")
        left = (await http.get("/api/egress")).json()
        assert [(one["host"], one["outcome"], one["sent"]) for one in left["connections"]] == [
            ("api.open-meteo.com", "done", 120),
            ("evil.example", "not listed", 0),
        ]
        agents = (await http.get("/api/agents")).json()["agents"]
        assert [(one["name"], one["usual"]) for one in agents] == [("family", True), ("work", False)]


async def test_the_owner_sees_what_agents_spent_on_the_last_days_and_nobody_else_does(config, data):
    async with api_house(config, data) as world, world.http("owner") as http, world.http("adult") as adult:
        assert (await adult.post("/api/timers", json={"seconds": 600})).status_code == 201
        assert (await adult.get("/api/timers")).status_code == 200
        spent = (await http.get("/api/usage/days")).json()
        [family] = [one for one in spent["spent"] if one["agent"] == "family"]
        today = (await http.get("/api/usage")).json()["agents"][0]
        assert family["units"] >= 3
        assert family["units"] <= today["spent"]
        assert spent["whole"]
        assert (await adult.get("/api/usage/days")).json()["error"]["code"] == "forbidden"


def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed():
    assert [nearest_rank(range(1, 101), percent) for percent in (50, 95, 99)] == [50, 95, 99]
    assert [nearest_rank([7], percent) for percent in (50, 99)] == [7, 7]
    assert nearest_rank([1, 2], 50) == 1


async def test_every_model_says_in_a_sentence_what_it_is_good_for_and_what_it_is_like_here(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner:
        english = (await owner.get("/api/models")).json()["models"]
        german = (await owner.get("/api/models", headers={"accept-language": "de"})).json()["models"]
    assert all(one["summary"].endswith(".") and one["memory_bytes"] > 0 for one in english)
    assert not {one["summary"] for one in english} & {one["summary"] for one in german}
    by_name = {one["name"]: one for one in english}
    assert by_name["smollm2-135m-instruct"]["tokens_per_second"] > 1
    assert not by_name["llama-3.1-70b-instruct"]["fits"] or by_name["llama-3.1-70b-instruct"]["memory_bytes"] > 40e9
    assert by_name["whisper-base"]["command_seconds"] > by_name["whisper-tiny.en"]["command_seconds"] > 0
    assert by_name["en_US-joe-medium"]["command_seconds"] is None


async def test_the_owner_filters_verifies_and_exports_the_record(config, data):
    async with api_house(config, data) as world, world.http("owner") as http, world.http("child") as child:
        await child.post("/api/timers", json={"seconds": 60})
        await child.patch("/api/home/devices/Front Door", json={"locked": False})
        await http.post("/api/lists/shopping/items", json={"items": ["a secret present"]})
        rows = (await http.get("/api/record")).json()["rows"]
        assert [row["tool"] for row in rows[:3]] == ["lists.add", "home.unlock", "timers.start"]
        by_child = (await http.get("/api/record", params={"device": "the child", "outcome": "denied"})).json()["rows"]
        assert [(row["tool"], row["rule"]) for row in by_child] == [("home.unlock", "role:unlock-9")]
        page = (await http.get("/api/record", params={"limit": 1})).json()
        older = (await http.get("/api/record", params={"limit": 1, "before": page["next"]})).json()
        assert [page["rows"][0]["tool"], older["rows"][0]["tool"]] == ["lists.add", "home.unlock"]
        assert (await http.get("/api/record", params={"since": time.time() + 60})).json()["rows"] == []
        exported = await http.get("/api/record/export")
        assert len(exported.text.splitlines()) >= 3
        assert "present" not in exported.text
        assert (await http.post("/api/record/verify")).json()["problems"] == []
        file = data / "audit.jsonl"
        file.write_text(file.read_text().replace("lists.add", "lists.adt"))
        assert (await http.post("/api/record/verify")).json()["problems"] != []
        assert (await child.get("/api/record")).status_code == 403


async def test_the_record_leaves_out_what_was_only_looked_up_and_never_what_was_refused(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner, world.http("guest") as guest:
        await owner.post("/api/timers", json={"seconds": 60})
        await owner.get("/api/timers")
        assert (await guest.get("/api/notes")).status_code == 403
        await world.house.use_owner_tool("timers.announced", {"ids": []}, HOUSE)
        rows = (await owner.get("/api/record", params={"looks": False})).json()["rows"]
        assert [(row["tool"], row["outcome"]) for row in rows] == [("notes.list", "denied"), ("timers.start", "ok")]
        everything = (await owner.get("/api/record")).json()["rows"]
        assert {"timers.list", "timers.announced"} <= {row["tool"] for row in everything}
        page = (await owner.get("/api/record", params={"looks": False, "limit": 1})).json()
        further = (await owner.get("/api/record", params={"looks": False, "before": page["next"]})).json()
        assert [row["tool"] for row in (*page["rows"], *further["rows"])] == ["notes.list", "timers.start"]


async def test_nobody_but_an_owner_is_told_of_the_record_by_the_gate_either(config, data):
    async with api_house(config, data) as world:
        for tool, arguments in (("record.rows", {}), ("record.verify", {}), ("rules.explain", {"agent": "family"})):
            for role, allowed in (("owner", True), ("adult", False), ("satellite", False)):
                assert (await world.house.use_owner_tool(tool, arguments, Actor("", "x", role))).ok == allowed


async def test_a_device_is_found_by_whatever_it_is_called(config, data):
    async with api_house(config, data) as world, world.http("owner") as http:
        for name in ("TV/DVD", "Mia's iPad", "50% off?#!"):
            await world.devices.create(name, "adult")
            where = f"/api/devices/{quote(name, safe='')}"
            assert (await http.patch(where, json={"room": "Attic"})).json()["name"] == name
            assert (await http.delete(where)).status_code == 204


async def test_a_page_learns_what_it_need_not_offer_and_why(config, data):
    async with api_house(config, data) as world:

        async def refused(role):
            async with world.http(role) as http:
                reply = await http.get("/api/rules/refused")
                assert reply.status_code == 200, reply.text
                return reply.json()["refused"]

        assert await refused("adult") == await refused("owner") == {}
        because = "Only who lives here and is old enough may unlock doors and gates."
        assert (await refused("child"))["home.unlock"] == because
        assert "home.lock" not in await refused("child"), "whoever lives here may lock"
        assert {"lists.add", "notes.list", "messages.leave"} <= {*await refused("guest")}


async def test_the_rules_are_explained_as_a_table(config, data):
    async with api_house(config, data) as world, world.http("owner") as http:
        reply = (await http.get("/api/rules")).json()
        verdicts = {row["tool"]: row["verdicts"] for row in reply["tools"]}
        assert verdicts["home.unlock"]["child"] == "–"
        assert verdicts["home.unlock"]["adult"].startswith("asks")
        assert verdicts["timers.start"]["guest"] == "yes"
        [rule] = [one for one in reply["rules"] if one["id"] == "role:unlock-9"]
        assert (rule["then"], rule["roles"]) == ("deny", ["child", "guest"])
        assert rule["because"] == "Only who lives here and is old enough may unlock doors and gates."


async def test_an_announcement_is_kept_until_a_room_can_say_it(config, data):
    async with api_house(config, data) as world, world.http("adult") as http, world.http("guest") as guest:
        reply = await http.post("/api/announcements", json={"text": "Dinner is ready"})
        assert (reply.status_code, reply.json()["broadcast"]["text"]) == (201, "Dinner is ready")
        assert (await guest.post("/api/announcements", json={"text": "Boo"})).json()["error"]["code"] == "denied"


async def test_what_was_done_after_a_yes_has_a_receipt_and_what_failed_after_one_says_so(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        for title in ("sweep", "mow"):
            await http.post("/api/tasks", json={"title": title})

        async def removed(title, before_the_yes=None):
            ask = (await http.delete(f"/api/tasks/{title}")).json()["ask"]
            if before_the_yes:
                before_the_yes()
            return await http.post(f"/api/asks/{ask['id']}", json={"answer": "yes"})

        done = await removed("sweep")
        assert done.json()["receipt"]["changed"], done.text
        back = await http.post("/api/history/undo", json={"receipt": done.json()["receipt"]["id"]})
        assert back.status_code == 200, back.text
        files = data / "family-agent-config" / "tasks" / "home"

        def lose():
            for file in files.glob("mow*"):
                file.unlink()

        gone = await removed("mow", lose)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found"), gone.text


async def test_a_yes_to_what_has_come_to_mean_something_else_is_asked_again(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        await http.post("/api/lists/shopping/items", json={"items": ["milk"]})
        ask = (await http.delete("/api/lists/shopping/items")).json()["ask"]
        await http.post("/api/lists/shopping/items", json={"items": ["bread", "eggs"]})
        again = await http.post(f"/api/asks/{ask['id']}", json={"answer": "yes"})
        assert again.status_code == 202, again.text
        assert again.json()["ask"]["sentence"] != ask["sentence"]
        assert len((await http.get("/api/lists/shopping")).json()["items"]) == 3
        done = await http.post(f"/api/asks/{again.json()['ask']['id']}", json={"answer": "yes"})
        assert done.status_code == 200, done.text
        assert (await http.get("/api/lists/shopping")).json()["items"] == []


async def test_a_sentence_is_taught_by_another_listed_and_unlearnt_and_each_is_recorded(config, data):
    async with api_house(config, data) as world, world.http() as http, world.http("adult") as adult:
        taught = await http.post("/api/sentences", json={"text": "Tea (time)!", "meaning": "set a timer for 4 minutes"})
        assert taught.status_code == 201, taught.text
        assert taught.json()["text"] == "Tea time"
        assert taught.json()["calls"] == [{"tool": "timers.start", "arguments": {"seconds": 240}}]
        again = await http.post("/api/sentences", json={"text": "tea time", "meaning": "set a timer for 5 minutes"})
        [one] = (await http.get("/api/sentences")).json()["sentences"]
        assert one == again.json()
        for draft in ({"text": "tea"}, {"text": "tea time", "meaning": "the colour of the sea"}, {"text": "one two"}):
            refused = await http.post("/api/sentences", json=draft)
            assert refused.status_code in (400, 404, 422), refused.text
        assert (await adult.post("/api/sentences", json={"text": "tea time"})).status_code == 403
        assert (await http.delete(f"/api/sentences/{one['id']}")).status_code == 204
        assert (await http.delete(f"/api/sentences/{one['id']}")).status_code == 404
        assert (await http.get("/api/sentences")).json()["sentences"] == []
        rows = (await http.get("/api/record", params={"tool": "settings.change"})).json()["rows"]
        assert {row["outcome"] for row in rows} == {"ok"}


async def test_an_owner_sees_the_load_of_the_machine_since_a_moment_and_nobody_else_does(config, data, monkeypatch):
    monkeypatch.setattr(machine_load, "EVERY_SECONDS", 0.01)
    spoke = anyio.Event()

    def speed():
        spoke.set()
        return 12.5

    async with api_house(config, data) as world, world.http("owner") as http, world.http("adult") as other:
        world.house.load = load = machine_load.MachineLoad({"embedded": speed})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(load.watch)
            await spoke.wait()
            tasks.cancel_scope.cancel()
        reply = (await http.get("/api/load")).json()
        sample = reply["samples"][-1]
        assert 0 <= sample["processor"] <= 1
        assert 0 < sample["used_bytes"] < reply["memory_bytes"]
        assert sample["tokens_per_second"] == {"embedded": 12.5}
        assert (await http.get("/api/load", params={"since": sample["at"]})).json()["samples"] == []
        assert (await other.get("/api/load")).status_code == 403


async def test_an_owner_reads_the_lines_of_the_log_after_a_line_and_nobody_else_does(config, data):
    async with api_house(config, data) as world, world.http("owner") as http, world.http("adult") as other:
        assert (await http.get("/api/log")).json() == {"began": 0.0, "lines": []}
        world.house.recent_log = recent = RecentLog()
        for words in ("one", "two"):
            recent.handle(logging.makeLogRecord({"msg": words, "levelno": logging.WARNING, "part": "tools"}))
        reply = (await http.get("/api/log")).json()
        assert reply["began"] == recent.began
        assert [(line["part"], line["level"], line["text"]) for line in reply["lines"]] == [
            ("tools", "warning", "one"),
            ("tools", "warning", "two"),
        ]
        later = (await http.get("/api/log", params={"after": reply["lines"][0]["number"]})).json()["lines"]
        assert [line["text"] for line in later] == ["two"]
        assert (await other.get("/api/log")).status_code == 403


async def test_a_page_that_failed_is_in_the_log_by_kind_and_place_and_at_a_pace_of_its_device(config, data):
    failure = {"kind": "TypeError", "page": "lists", "at": ["lists-a1_B-2.js:1:4021", "index-c3.js:1:17"]}
    async with api_house(config, data) as world, world.http("guest") as http, world.http("adult") as other:
        world.house.recent_log = recent = RecentLog()
        log = logging.getLogger("atlas")
        log.addHandler(recent)
        try:
            for field, words in (
                ("kind", "milk and bread"),
                ("page", "notes/birthday of Mia"),
                ("at", ["atlas_0123456789abcdef"]),
                ("at", ["https://example.org/a.js:1:1"]),
                ("at", 13 * ["a.js:1:1"]),
                ("message", "milk"),
            ):
                refused = await http.post("/api/log/page-failures", json={**failure, field: words})
                assert refused.status_code == 422, (field, refused.text)
            replies = [await http.post("/api/log/page-failures", json=failure) for _ in range(4)]
            assert [reply.status_code for reply in replies] == [204, 204, 204, 429]
            assert (await other.post("/api/log/page-failures", json={"kind": "Error"})).status_code == 204
        finally:
            log.removeHandler(recent)
        lines = [line for line in recent.after(0) if line.part == "app"]
    assert [(line.level, line.text) for line in lines] == [
        *3
        * [
            (
                "error",
                "page failed device='the guest' page=lists kind=TypeError at=lists-a1_B-2.js:1:4021 < index-c3.js:1:17",
            )
        ],
        ("error", "page failed device='the adult' page= kind=Error at="),
    ]


async def test_the_log_of_a_request_that_failed_holds_no_name_of_what_it_was_about(config, data, caplog):
    caplog.set_level(logging.INFO, "atlas")
    async with api_house(config, data) as world, world.http("owner") as http:

        async def break_off(*arguments):
            raise EngineError("the tools are gone")

        world.house.press = break_off
        assert (await http.delete("/api/tasks/Birthday of Mia")).status_code == 503
    [line] = [message for message in caplog.messages if message.startswith("request failed")]
    assert "path=/api/tasks/{task}" in line
    assert "Mia" not in line
