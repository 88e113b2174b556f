"""The published tokenizers of multilingual Whisper lack their first merge; what is weighed must be written in full."""

from __future__ import annotations

import json

import tokenizers

from atlas.speech.stt_faster_whisper import mended
from tests.conftest import for_every

WORDS = ["a", "e", "h", "t", "Ġ", "Ġt", "Ġth", "Ġthe"]


def tokenizer(merges: list[object]) -> str:
    model = {"type": "BPE", "vocab": {word: number for number, word in enumerate(WORDS)}, "merges": merges}
    split = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": split, "model": model})


@for_every("merges", [["Ġt h", "Ġth e"], [["Ġt", "h"], ["Ġth", "e"]]])
def test_a_word_is_one_token_again_whose_first_merge_is_missing(merges: list[object]) -> None:
    broken, whole = (tokenizers.Tokenizer.from_str(text) for text in (tokenizer(merges), mended(tokenizer(merges))))
    assert broken.encode(" the").tokens == ["Ġ", "t", "h", "e"]
    assert whole.encode(" the").tokens == ["Ġthe"]


def test_a_whole_tokenizer_stays_as_it_is() -> None:
    whole = tokenizer(["Ġ t", "Ġt h", "Ġth e"])
    assert json.loads(mended(whole)) == json.loads(whole)
