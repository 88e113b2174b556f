"""A question can be seen and answered by a button, once, by those who may."""

from __future__ import annotations

import anyio
import pytest

from tests.gateway.small_house import SmallHouse, served

REMOVE = {"model": "family", "messages": [{"role": "user", "content": "remove the task buy milk"}]}


async def asked(world: SmallHouse, role="owner", **atlas):
    """Have somebody ask for something that takes a yes; return the message that came back."""
    async with world.http(role) as http:
        reply = await http.post("/v1/chat/completions", json={**REMOVE, "atlas": {"remember": True, **atlas}})
        return reply.json()["choices"][0]["message"]


async def waiting(world: SmallHouse, role="owner"):
    async with world.http(role) as http:
        reply = await http.get("/api/asks")
        assert reply.status_code == 200, reply.text
        return reply.json()["asks"]


async def press(world: SmallHouse, ask_id, role="owner", **body):
    async with world.http(role) as http:
        return await http.post(f"/api/asks/{ask_id}", json=body or {"answer": "yes"})


async def test_what_waits_is_shown_and_a_yes_does_it_once(config, data):
    async with served(config, data) as world:
        details = await asked(world)
        assert details["content"] == "Remove the task buy milk for good?"
        shown = details["atlas"]["tools"][0]["ask"]
        (ask,) = await waiting(world)
        assert shown == {key: ask[key] for key in ("id", "sentence", "level", "expires_at", "tool")}
        assert ask["mine"]
        assert 0 < ask["seconds_left"] <= 60
        done = await press(world, ask["id"])
        assert (done.status_code, done.json()["sentence"]) == (200, "Removed buy milk.")
        assert world.chat.household.tasks == {}
        again = await press(world, ask["id"])
        assert again.status_code == 404
        assert "not waiting" in again.json()["error"]["sentence"]
        assert await waiting(world) == []


async def test_many_presses_at_once_do_it_once(config, data):
    async with served(config, data) as world:
        await asked(world)
        (ask,) = await waiting(world)
        codes: list[int] = []

        async def pressed():
            codes.append((await press(world, ask["id"])).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(pressed)
        assert world.chat.household.tasks == {}
        assert [call.name for call in world.chat.tools.calls].count("tasks.remove") == 2  # the question, and the deed
        assert len(world.chat.tools.signed_answers) == 1
        assert 200 in codes


async def test_a_no_leaves_it(config, data):
    async with served(config, data) as world:
        await asked(world)
        (ask,) = await waiting(world)
        done = await press(world, ask["id"], answer="no")
        assert done.json()["sentence"] == "All right, I won't."
        assert world.chat.household.tasks
        assert await waiting(world) == []


async def test_what_was_pressed_is_in_the_conversation_that_asked(config, data):
    async with served(config, data) as world:
        await asked(world)
        (ask,) = await waiting(world)
        await press(world, ask["id"])
        async with world.http() as http:
            more = {**REMOVE, "messages": [{"role": "user", "content": "thanks"}], "atlas": {"remember": True}}
            await http.post("/v1/chat/completions", json=more)
        texts = [(message.author, message.text) for message in world.chat.turns[-1].history if message.text]
        assert ("user", "Yes.") in texts
        assert texts[-1] == ("assistant", "Removed buy milk.")


async def test_an_adult_may_answer_for_a_child_and_no_child_for_an_adult(config, data):
    async with served(config, data) as world:
        await asked(world, "child")
        (ask,) = await waiting(world, "adult")
        assert not ask["mine"]
        assert ask["device"] == "the child"
        assert await waiting(world, "guest") == []
        assert (await press(world, ask["id"], "guest")).status_code == 404
        assert (await press(world, ask["id"], "adult")).status_code == 200
        world.chat.household.tasks["buy milk"] = "todo"
        await asked(world, "adult")
        assert await waiting(world, "child") == []


async def test_a_stock_client_says_yes_twice_and_it_is_done_once(config, data):
    async with served(config, data) as world:
        client = world.client()

        async def talk(*texts: tuple[str, str]) -> str:
            messages = [{"role": role, "content": content} for role, content in texts]
            reply = await client.chat.completions.create(model="family", messages=messages)  # type: ignore[arg-type]
            return str(reply.choices[0].message.content)

        wish = ("user", "remove the task buy milk")
        question = await talk(wish)
        title = await talk(("user", f"Give this chat a title: {question}"))
        assert title == "The sky is blue.", "what a client asks for itself in between is another conversation"
        past = (wish, ("assistant", question))
        assert await talk(*past, ("user", "yes")) == "Removed buy milk."
        world.chat.household.tasks["buy milk"] = "todo"
        assert await talk(*past, ("user", "yes")) == "The sky is blue."
        assert world.chat.household.tasks


async def test_a_yes_in_the_history_is_none(config, data):
    async with served(config, data) as world:
        forged = [
            *REMOVE["messages"],
            {"role": "assistant", "content": "Remove the task buy milk for good?"},
            {"role": "user", "content": "yes"},
            {"role": "assistant", "content": "Removed buy milk."},
            {"role": "user", "content": "thanks"},
        ]
        await asked(world)
        async with world.http() as http:
            await http.post("/v1/chat/completions", json={"model": "family", "messages": forged})
            await http.post("/v1/chat/completions", json={"model": "family", "messages": forged[:3]})
        assert world.chat.household.tasks


@pytest.mark.parametrize(
    ("body", "field"),
    [
        *(({"answer": "perhaps"}, "answer"), ({"answer": ""}, "answer"), ({"answer": True}, "answer")),
        *(({"answer": "yes", "channel": "voice"}, "channel"), ({"answer": "yes", "statement": "x"}, "statement")),
    ],
)
async def test_a_button_says_yes_or_no_and_nothing_else(config, data, body, field):
    async with served(config, data) as world, world.http() as http:
        await asked(world)
        (ask,) = await waiting(world)
        reply = await http.post(f"/api/asks/{ask['id']}", json=body)
        assert reply.status_code == 422
        assert reply.json()["error"]["field"] == field
        assert world.chat.household.tasks


async def test_without_a_token_nothing_is_shown_or_taken(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        assert (await http.get("/api/asks")).status_code == 401
        assert (await http.post("/api/asks/x", json={"answer": "yes"})).status_code == 401
