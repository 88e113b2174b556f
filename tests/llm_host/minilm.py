"""What a BERT encoder computes, in numpy, from the published weights: what ours is held against.

    python tests/llm_host/minilm.py FOLDER     # of config.json, tokenizer.json, model.safetensors

writes minilm.json: sentences, their tokens by the maker's own tokenizer, and their vectors in 16 bits. The formulas are
those of Devlin et al., "BERT", 2018; the mean of all tokens at length 1 is what sentence-transformers adds.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

KNOWN = Path(__file__).parent / "minilm.json"
SENTENCES = [
    "The cat sat on the mat.",
    "A kitten was sitting on the rug.",
    "Turn off the lights in the living room.",
    "Could you make it dark in the lounge, please?",
    "What is on my calendar tomorrow?",
    "Do I have any appointments on Tuesday?",
    "The boiler was serviced in March by Mr Lehmann.",
    "When did someone last look at the heating?",
    "Stock markets fell sharply on Monday.",
    "hello",
    "A",
    "Grüße aus Köln: Straße, Café, naïve, Ångström, Łódź, Ирина",
    "今日は天気がいいですね。",
    "مرحبا بالعالم",
    "Sarah’s “quoted” dash — and an ellipsis…",
    "🙂 emoji 🏠 and ✨ more",
    "3.14159 × 2 = 6.28318; 50% of $1,000.00 is £400?",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "tabs\tand\nnew lines  and   spaces",
    "e\u0301 decomposed, \u200bzero width, \ufeffmark, [SEP] and [MASK] spelled out",
    "The quick brown fox jumps over the lazy dog, again and again. " * 60,
]


def vector(weights: Mapping[str, NDArray[np.float32]], tokens: Sequence[int], config: Mapping[str, Any]) -> Any:
    """Return the vector of a text of those tokens."""
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]

    def dense(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights["embeddings.word_embeddings.weight"][list(tokens)]
    x = x + weights["embeddings.position_embeddings.weight"][: len(tokens)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        here = f"encoder.layer.{layer}"
        q, k, v = (
            dense(x, f"{here}.attention.self.{part}").reshape(len(tokens), heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        seen = (shares @ v).swapaxes(0, 1).reshape(len(tokens), -1)
        x = norm(x + dense(seen, f"{here}.attention.output.dense"), f"{here}.attention.output.LayerNorm")
        wide = dense(x, f"{here}.intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = norm(x + dense(wide, f"{here}.output.dense"), f"{here}.output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def known() -> list[tuple[str, list[int], NDArray[np.float32]]]:
    """Return the sentences of minilm.json with tokens and vectors."""
    entries = json.loads(KNOWN.read_text(encoding="utf-8"))
    return [
        (text, tokens, np.frombuffer(base64.b64decode(numbers), "<f2").astype(np.float32))
        for text, tokens, numbers in entries
    ]


def main(folder: Path) -> None:
    from tokenizers import Tokenizer

    from atlas.models.convert import read_safetensors

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    tokenizer.encode_special_tokens = True  # "[SEP]" that a person wrote is text
    weights = read_safetensors(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    lines = []
    for text in SENTENCES:
        tokens = tokenizer.encode(text).ids
        numbers = vector(weights, tokens, config).astype("<f2").tobytes()
        lines.append(json.dumps([text, tokens, base64.b64encode(numbers).decode()], ensure_ascii=False))
    KNOWN.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
