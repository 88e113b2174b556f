"""Which recogniser hears again is chosen by what is on disk, by memory and by time, and the reason is told."""

from __future__ import annotations

from dataclasses import replace

from atlas.config import SpeechConfig
from atlas.models.ears import FIRST, SECOND, UNUSED, ears_for, fit_ears
from atlas.models.fit import GIB
from tests.conftest import for_every

SIZES = {"whisper-tiny.en": 75_537_502, "whisper-base": 145_217_532, "whisper-small": 483_546_902}


def uses(first="whisper-tiny.en", languages=("en",), cores=2, free=8 * GIB, sizes=SIZES):
    return {fit.name: fit.use for fit in fit_ears(sizes, first, languages, cores, free)}


def test_the_best_that_is_quick_enough_hears_again():
    assert uses() == {"whisper-tiny.en": FIRST, "whisper-base": SECOND, "whisper-small": UNUSED}


def test_with_more_cores_a_better_one_is_quick_enough():
    assert uses(cores=8) == {"whisper-tiny.en": FIRST, "whisper-base": UNUSED, "whisper-small": SECOND}


@for_every("case", [{"cores": 1}, {"free": GIB}, {"sizes": {"whisper-tiny.en": 75_537_502}}])
def test_where_time_memory_or_weights_lack_nothing_hears_again(case):
    assert SECOND not in uses(**case).values()


def test_one_that_hears_english_alone_is_no_help_to_a_german_house():
    sizes = {**SIZES, "whisper-medium.en": 200_000_000}
    assert uses("whisper-base", ("de",), sizes=sizes) == {
        "whisper-tiny.en": UNUSED,
        "whisper-base": FIRST,
        "whisper-medium.en": UNUSED,
        "whisper-small": UNUSED,
    }


def test_in_a_house_of_two_languages_the_english_one_hears_english_again():
    assert uses("whisper-base", ("en", "de")) == {
        "whisper-tiny.en": SECOND,
        "whisper-base": FIRST,
        "whisper-small": UNUSED,
    }
    assert uses("whisper-base", ("en", "de"), cores=8)["whisper-small"] == SECOND, "a better one hears both"


def test_every_recogniser_has_a_reason():
    assert all(fit.why for fit in fit_ears(SIZES, "whisper-tiny.en", ("en",), 1, GIB))


def test_a_choice_of_the_settings_stands(tmp_path):
    speech = SpeechConfig(stt_model="whisper-tiny.en", models=tmp_path)
    for name, size in SIZES.items():
        (tmp_path / name).mkdir()
        with (tmp_path / name / "model.bin").open("wb") as file:
            file.truncate(size)
    assert ears_for(replace(speech, second_pass_model="none")).second_pass_model == ""
    assert ears_for(replace(speech, second_pass_model="whisper-small")).second_pass_model == "whisper-small"
