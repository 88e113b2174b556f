"""Other programs' texts through the stock client: whose vectors come back, what is refused, and who goes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio
import anyio.lowlevel
import numpy as np
import openai
import pytest

from atlas.embeddings import MOST_CHARACTERS, MOST_TEXTS, read_request
from atlas.errors import EngineError, LlmBusy, LlmGone, RequestError
from atlas.fields import Fields
from atlas.gateway import embeddings
from atlas.gateway.embeddings import BATCH_TEXTS, MOST_AT_ONCE, MOST_OF_ONE
from atlas.llm.backend import Embeddings, Priority
from tests.conftest import for_every, virtual_time
from tests.gateway.small_house import SmallHouse, served
from tests.scripted_backend import ScriptedBackend, ScriptedSettings

ENCODER = "all-minilm-l6-v2"
LONG = "a word " * 300  # more than is read


class Encoder(ScriptedBackend):
    """One that can be held up, and that can be gone."""

    def __init__(self) -> None:
        super().__init__(ScriptedSettings())
        self.goes_on = anyio.Event()
        self.goes_on.set()
        self.event = anyio.Event()
        self.trouble: EngineError | None = None
        self.left = anyio.Event()

    def hold(self) -> None:
        self.goes_on, self.event = anyio.Event(), anyio.Event()

    async def embed(self, texts: Sequence[str], *, priority: Priority = "chat") -> Embeddings:
        if self.trouble:
            raise self.trouble
        read = await super().embed(texts, priority=priority)
        self.event.set()
        try:
            await self.goes_on.wait()
        except anyio.get_cancelled_exc_class():
            self.left.set()
            raise
        return read


def give(world: SmallHouse) -> Encoder:
    """Put an encoder beside the only model of a small house."""
    encoder = Encoder()
    world.house.encoders = {"embedded": encoder}
    return encoder


async def test_texts_that_are_alike_come_back_near_each_other_in_either_form(config, data):
    async with served(config, data) as world:
        give(world)
        texts = ["turn the light off", "turn the light on", "shares fell"]
        made = await world.client().embeddings.create(model=ENCODER, input=texts)  # as base64, unless it is told
        assert (made.object, made.model, [item.index for item in made.data]) == ("list", ENCODER, [0, 1, 2])
        assert (made.usage.prompt_tokens, made.usage.total_tokens) == (10, 10)
        off, on, shares = (item.embedding for item in made.data)
        assert np.dot(off, on) == pytest.approx(0.75)
        assert np.dot(off, shares) < 0.3
        plain = await world.client().embeddings.create(model=ENCODER, input=texts, encoding_format="float")
        for one, other in zip(made.data, plain.data, strict=True):
            assert one.embedding == pytest.approx(other.embedding, abs=1e-7)


async def test_a_list_of_any_length_comes_back_in_its_order_and_what_was_cut_is_marked(config, data):
    async with served(config, data) as world:
        encoder = give(world)
        texts = [*(f"text {number}" for number in range(2 * BATCH_TEXTS)), LONG, "the last"]
        made = await world.client().embeddings.create(model=ENCODER, input=texts)
        expected = (await ScriptedBackend(ScriptedSettings()).embed(texts)).vectors
        for item, right in zip(made.data, expected, strict=True):
            assert item.embedding == pytest.approx(right)
        assert [item.index for item in made.data] == list(range(len(texts)))
        cut = [item.index for item in made.data if (item.model_extra or {}).get("atlas_cut")]
        assert cut == [len(texts) - 2]
        assert [len(batch) for batch, _ in encoder.embedded] == [BATCH_TEXTS, BATCH_TEXTS, 2]


@pytest.mark.parametrize(
    ("texts", "priority"),
    [("what to search by", "chat"), (LONG, "background"), (["one", "two"], "background")],
    ids=["a short text", "a long one", "two"],
)
async def test_no_program_is_as_urgent_as_a_voice(config, data, texts, priority):
    async with served(config, data) as world:
        encoder = give(world)
        await world.client().embeddings.create(model=ENCODER, input=texts)
        assert [who for _, who in encoder.embedded] == [priority]


@for_every(
    ("more", "param", "code"),
    [
        ({"input": None}, "input", "missing_field"),
        ({"input": []}, "input", "invalid_type"),
        ({"input": {"text": "x"}}, "input", "invalid_type"),
        ({"input": ""}, "input", "invalid_value"),
        ({"input": ["a", ""]}, "input[1]", "invalid_value"),
        ({"input": ["a", 5]}, "input[1]", "invalid_type"),
        ({"input": [[1, 2]]}, "input", "unsupported_value"),
        ({"input": ["a"] * (MOST_TEXTS + 1)}, "input", "array_too_long"),
        ({"input": "a" * (MOST_CHARACTERS + 1)}, "input", "string_too_long"),
        ({"encoding_format": "hex"}, "encoding_format", "invalid_value"),
        ({"dimensions": 0}, "dimensions", "invalid_value"),
        ({"dimensions": True}, "dimensions", "invalid_type"),
        ({"model": None}, "model", "missing_field"),
        ({"pooling": "cls"}, "pooling", "unknown_field"),
    ],
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_field(more, param, code):
    with pytest.raises(RequestError) as refused:
        read_request(Fields({"model": ENCODER, "input": "hello", **more}))
    assert (refused.value.param, refused.value.code) == (param, code)


async def test_refusals_have_the_shape_that_a_stock_client_reads(config, data):
    async with served(config, data) as world:
        encoder, client = give(world), world.client()
        with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length") as refused:
            await client.embeddings.create(model=ENCODER, input=[1, 2, 3])
        assert (refused.value.param, refused.value.type) == ("input", "invalid_request_error")
        with pytest.raises(openai.NotFoundError, match=f"There is no model 'family' .* there is {ENCODER}"):
            await client.embeddings.create(model="family", input="x")
        assert encoder.embedded == []
        with pytest.raises(openai.BadRequestError, match="can only be 64"):
            await client.embeddings.create(model=ENCODER, input="x", dimensions=32)
        assert (await client.embeddings.create(model=ENCODER, input="x", dimensions=64)).data
        async with world.http() as http:
            too_large = await http.post("/v1/embeddings", content=b" " * (2 * 1024 * 1024 + 1))
        assert (too_large.status_code, too_large.json()["error"]["code"]) == (413, "request_too_large")
        async with world.http(None) as http:
            nobody = await http.post("/v1/embeddings", json={"model": ENCODER, "input": "x"})
        assert (nobody.status_code, nobody.json()["error"]["code"]) == (401, "invalid_api_key")


async def test_a_house_without_an_encoder_says_how_to_get_one_and_lists_none(config, data):
    async with served(config, data) as world:
        with pytest.raises(openai.NotFoundError, match="atlas models pull all-minilm-l6-v2") as refused:
            await world.client().embeddings.create(model=ENCODER, input="x")
        assert refused.value.code == "model_not_found"
        assert ENCODER not in [model.id async for model in world.client().models.list()]


@pytest.mark.parametrize(
    ("trouble", "code", "text"),
    [
        (LlmGone("connection refused at /secret/socket"), "engine_unavailable", "away just now"),
        (EngineError("no model for it at /secret/socket"), "engine_unavailable", "away just now"),
        (LlmBusy("32 wait"), "overloaded", "when the house is quieter"),
    ],
    ids=["gone", "without its model", "busy"],
)
async def test_a_host_that_does_not_answer_is_told_in_words(config, data, trouble, code, text):
    async with served(config, data) as world:
        give(world).trouble = trouble
        with pytest.raises(openai.InternalServerError, match=text) as refused:
            await world.client().embeddings.create(model=ENCODER, input="x")
        assert (refused.value.status_code, refused.value.code) == (503, code)
        assert "secret" not in str(refused.value)


async def test_the_models_list_names_the_encoder_beside_the_agents(config, data):
    async with served(config, data) as world:
        give(world)
        assert [model.id async for model in world.client("child").models.list()] == ["atlas", "family", ENCODER]
        assert (await world.client("child").models.retrieve(ENCODER)).id == ENCODER


async def test_only_a_role_that_an_agent_of_that_host_answers_may_use_its_encoder(config, data):
    llm = {"small": config.llm["embedded"], "big": replace(config.llm["embedded"], embedder="large-encoder")}
    agents = {
        "family": replace(config.agents["family"], llm="small", roles=("owner", "adult")),
        "work": replace(config.agents["work"], llm="big", roles=("owner",)),
    }
    async with served(replace(config, llm=llm, agents=agents), data) as world:
        small, big = Encoder(), Encoder()
        world.house.encoders = {"small": small, "big": big}
        assert (await world.client("owner").embeddings.create(model="large-encoder", input="x")).data
        assert (await world.client("adult").embeddings.create(model=ENCODER, input="x")).data
        assert (len(small.embedded), len(big.embedded)) == (1, 1)
        with pytest.raises(openai.NotFoundError):
            await world.client("adult").embeddings.create(model="large-encoder", input="x")
        with pytest.raises(openai.PermissionDeniedError):
            await world.client("child").embeddings.create(model=ENCODER, input="x")


async def test_a_program_that_asks_for_too_much_at_once_waits_and_others_do_not(config, data):
    async with served(config, data) as world:
        encoder = give(world)
        encoder.hold()
        client = world.client("adult")
        refused: list[openai.RateLimitError] = []

        async def ask() -> None:
            try:
                await client.embeddings.create(model=ENCODER, input=["a", "b"])
            except openai.RateLimitError as limit:
                refused.append(limit)
                encoder.goes_on.set()

        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for _ in range(MOST_OF_ONE + 1):
                    tasks.start_soon(ask)
                await encoder.event.wait()
                while not refused:
                    await anyio.lowlevel.checkpoint()
                assert (await world.client("owner").embeddings.create(model=ENCODER, input=["c", "d"])).data
        assert [limit.code for limit in refused] == ["rate_limit_exceeded"]
        assert (await client.embeddings.create(model=ENCODER, input="x")).data, "and has room again"


def test_all_programs_together_leave_room_for_people() -> None:
    room, places = embeddings.EmbeddingPlaces(), []
    for number in range(MOST_AT_ONCE):
        places.append(room.place(f"laptop {number // MOST_OF_ONE}"))
        places[-1].__enter__()
    with pytest.raises(RequestError) as refused, room.place("another"):
        pass
    assert refused.value.code == "rate_limit_exceeded"
    places.pop().__exit__(None, None, None)
    with room.place("another"):
        pass


async def test_who_hangs_up_is_not_worked_for(config, data):
    async with served(config, data) as world:
        encoder = give(world)
        encoder.hold()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: world.client().embeddings.create(model=ENCODER, input=["a", "b"]))
                await encoder.event.wait()
                tasks.cancel_scope.cancel()
            await encoder.left.wait()
            encoder.goes_on.set()
            assert (await world.client().embeddings.create(model=ENCODER, input=["a", "b"])).data


async def test_a_short_text_does_not_wait_for_another_programs_many(config, data):
    async with served(config, data) as world:
        encoder = give(world)
        encoder.hold()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: world.client("adult").embeddings.create(model=ENCODER, input=["a"] * 100))
                await encoder.event.wait()
                encoder.event = anyio.Event()
                tasks.start_soon(lambda: world.client().embeddings.create(model=ENCODER, input="search by this"))
                await encoder.event.wait()
                assert encoder.embedded[-1] == (("search by this",), "chat")
                encoder.goes_on.set()


async def test_two_programs_take_turns_batch_by_batch() -> None:
    encoder, line = Encoder(), anyio.Lock()
    encoder.hold()

    async def ask(text: str) -> None:
        many = read_request(Fields({"model": ENCODER, "input": [text] * 2 * BATCH_TEXTS}))
        await embeddings.embedded(many, encoder, line)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, "mine")
        tasks.start_soon(ask, "yours")
        await anyio.wait_all_tasks_blocked()
        encoder.goes_on.set()
    first, second, third, fourth = (texts[0] for texts, _ in encoder.embedded)
    assert first == third != second == fourth


@pytest.mark.parametrize("anyio_backend", [virtual_time()])
async def test_texts_that_never_get_their_turn_are_given_up_before_the_backend_takes_the_model_for_gone() -> None:
    encoder = Encoder()
    encoder.hold()
    with anyio.fail_after(120), pytest.raises(RequestError, match="in the line") as refused:
        await embeddings.embedded(read_request(Fields({"model": ENCODER, "input": "x"})), encoder, anyio.Lock())
    assert refused.value.code == "overloaded"


async def test_one_line_is_left_in_the_log_without_the_texts(config, data, caplog):
    caplog.set_level("INFO", "atlas")
    async with served(config, data) as world:
        give(world)
        await world.client().embeddings.create(model=ENCODER, input=["my salary", "my weight"])
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("embedded ")]
    assert len(lines) == 1
    assert f"device='the owner' model={ENCODER} texts=2 tokens=4 ms=" in lines[0]
    assert not any("salary" in record.getMessage() for record in caplog.records)
