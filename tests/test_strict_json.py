"""JSON to the letter: what two readers could take for different things is taken by nobody."""

from __future__ import annotations

import pytest

from tests.conftest import for_every
from wall import strict_json


@for_every("text", ["NaN", "[-Infinity]", '{"a": Infinity}', "{", "", "\xff"])
def test_what_no_other_reader_would_take_is_refused(text: str) -> None:
    for given in (text, text.encode()):
        with pytest.raises(ValueError):
            strict_json.loads(given)


@for_every("text", ["1e999", '{"a": [-1e999]}', '{"\\ud83d\\ude00": 1e999}'])
def test_a_number_too_large_is_read_or_refused_as_one_asks(text: str) -> None:
    assert "inf" in str(strict_json.loads(text))
    for read in (strict_json.FINITE.raw_decode, lambda text: strict_json.loads(text, finite=True)):
        with pytest.raises(ValueError, match="too large"):
            read(text)


@for_every("half", [r'"a\ud83d"', r'{"\udfff": 1}', b'["\xed\xa0\xbd"]', '"\ud83d"'])
def test_half_of_a_character_is_refused_or_mended(half: str | bytes) -> None:
    with pytest.raises(ValueError, match="half of a character"):
        strict_json.loads(half)
    assert str(strict_json.loads(half, mends=True)).encode().count("\ufffd".encode()) == 1


@for_every("pair", [r'"\ud83d\ude00"', '"\ud83d\ude00"', b'"\xed\xa0\xbd\xed\xb8\x80"', '"😀"', '"😀"'.encode()])
def test_two_halves_that_stand_together_are_one_character(pair: str | bytes) -> None:
    assert strict_json.loads(pair) == "😀"


def test_text_is_mended_by_itself_too() -> None:
    assert strict_json.unbroken("a\ud800b \ud83d\ude00") == "a\ufffdb 😀"


def test_a_number_of_too_many_digits_is_refused_in_words_and_not_in_those_of_python() -> None:
    with pytest.raises(strict_json.NotStrict, match=r"^1{40}… is too large for a number$"):
        strict_json.loads("[" + "1" * 5_000 + "]")
    with pytest.raises(strict_json.NotStrict, match="too large for a number"):
        strict_json.FINITE.raw_decode("1" * 5_000)
    assert strict_json.loads("[" + "1" * 400 + "]") == [int("1" * 400)]
