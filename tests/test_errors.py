from __future__ import annotations

import pytest

from atlas.engine import open_engine
from atlas.errors import AtlasError, ConfigError, EngineError, LlmGone, RequestError, StoreError
from tests.conftest import for_every


def test_an_error_has_words_for_the_log_for_a_person_and_for_whoever_looks_after_the_house() -> None:
    gone = LlmGone("connection reset", hint="see the log")
    assert (str(gone), gone.hint) == ("connection reset", "see the log")
    assert "train of thought" in gone.spoken
    assert LlmGone("x", spoken="Hm.").spoken == "Hm."


@for_every("kind", [AtlasError, ConfigError, EngineError, LlmGone, StoreError])
def test_every_kind_can_be_said_aloud(kind: type[AtlasError]) -> None:
    assert kind("log").spoken.endswith(".")


def test_a_request_error_names_the_field() -> None:
    wrong = RequestError("port must be a number", code="invalid_type", param="port")
    assert (wrong.code, wrong.param) == ("invalid_type", "port")


@for_every("name", ["nothing", "../main", "", "faster whisper", "no.such.stt", "..main"])
async def test_an_engine_without_a_file_is_a_mistake_in_the_settings(name: str) -> None:
    with pytest.raises(ConfigError, match="no stt engine called") as unknown:
        await open_engine("stt", name, None)
    assert "atlas/speech/stt_NAME.py" in unknown.value.hint


async def test_an_engine_of_any_module_is_found_by_its_name() -> None:
    from atlas.config import SpeechConfig

    stt = await open_engine("stt", "tests.scripted_stt", SpeechConfig())
    await stt.aclose()
