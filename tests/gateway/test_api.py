"""The house's own API: what pages read and change goes through the gate, in one shape, and no further."""

from __future__ import annotations

from tests.gateway.api_house import api_house


async def test_me_tells_who_the_house_takes_the_caller_for(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        me = (await http.get("/api/me")).json()
        assert (me["role"], me["device"], me["room"], me["agents"]) == ("adult", "the adult", "Kitchen", ["family"])
        async with world.http("owner") as owner:
            assert (await owner.get("/api/me")).json()["agents"] == ["family", "work"]


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
        assert (await http.delete(where)).json()["text"] == "Pizza timer cancelled."
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


async def test_what_cannot_be_is_refused_in_one_shape(config, data):
    async with api_house(config, data) as world, world.http("adult") as http, world.http(None) as stranger:
        for reply, status, code in (
            (await http.post("/api/timers", json={"seconds": 0}), 422, "invalid_value"),
            (await http.post("/api/timers", json={"seconds": 5, "sconds": 1}), 422, "invalid_value"),
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
