"""How loudly a device speaks: in force at once, stored, and never cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from atlas.audio import AudioChunk
from atlas.errors import ConfigError
from atlas.speech.speaking_volumes import AS_MADE, LOUDEST, SOFTEST, SpeakingVolumes


def volumes_in(folder: Path) -> SpeakingVolumes:
    volumes = SpeakingVolumes(folder)
    volumes.on("kitchen pi")
    return volumes


def a_voice() -> AudioChunk:
    return AudioChunk((np.sin(np.arange(16_000) / 8) * 12_000).astype("<i2").tobytes())


async def test_a_device_speaks_louder_or_softer_from_then_on_and_after_a_restart(tmp_path: Path) -> None:
    volumes = volumes_in(tmp_path)
    assert volumes.on("kitchen pi")(a_voice()) == a_voice()
    levels = []
    for percent in (SOFTEST, 30, AS_MADE, 70, LOUDEST):
        assert await volumes.set("kitchen pi", percent) == percent
        levels.append(volumes_in(tmp_path).on("kitchen pi")(a_voice()).level_db)
    assert levels == sorted(set(levels))
    assert levels[2] - levels[0] > 12
    assert levels[4] - levels[2] > 5
    assert volumes.on("attic pi")(a_voice()) == a_voice()


async def test_what_is_set_for_good_ends_what_was_lent(tmp_path: Path) -> None:
    volumes = volumes_in(tmp_path)
    assert volumes.lend("kitchen pi", 400, 60) == LOUDEST
    assert volumes.percent("kitchen pi") == LOUDEST
    await volumes.set("kitchen pi", 30)
    assert volumes.percent("kitchen pi") == 30
    assert volumes.lend("a telephone", 30, 60) is None


async def test_what_is_as_loud_as_it_can_be_gets_no_louder_and_is_not_cut(tmp_path: Path) -> None:
    volumes = volumes_in(tmp_path)
    assert await volumes.set("kitchen pi", 400) == LOUDEST
    assert await volumes.set("kitchen pi", LOUDEST) == LOUDEST
    loudest = np.frombuffer(volumes.on("kitchen pi")(a_voice()).pcm, "<i2")
    assert 20_000 < abs(loudest).max() < 32_767


async def test_where_the_house_has_no_voice_nothing_is_set(tmp_path: Path) -> None:
    assert await volumes_in(tmp_path).set("a telephone", 30) is None
    assert volumes_in(tmp_path).percent("a telephone") == AS_MADE


@pytest.mark.parametrize("text", ["[", '{"kitchen pi": "loud"}', '{"kitchen pi": Infinity}'])
def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / "speaking_volumes.json").write_text(text)
    with pytest.raises(ConfigError, match=r"speaking_volumes\.json") as trouble:
        volumes_in(tmp_path)
    assert "delete it" in trouble.value.hint
