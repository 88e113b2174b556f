"""Make understanding/corpus/claims.npz of corpus/claims/*.txt: what tells a claim of this house from talk of the world.

.venv/bin/python scripts/train_claims.py            # writes it, and prints what it makes of sentences of other kinds
.venv/bin/python scripts/train_claims.py MODELS     # with the encoder in that models folder

A small network on the states that the encoder gives each sentence; made on a processor in seconds, the same every time.
Each kind of sentence is left out once, and judged by what was learnt of all others: that is printed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from atlas.understanding.act_model import CORPUS, ENCODER
from atlas.understanding.claims import TAUGHT, features
from atlas.understanding.encoder import SentenceEncoder

ROUNDS, RATE, DECAY, BATCH, WIDTH, SEED = 50, 2e-3, 0.02, 64, 16, 1
HEAVIER = 1.2  # a claim that passes costs more than talk that is held
JOINED = 900  # sentences made of one about the world and a claim
_KIND = re.compile(r"\[(!?\w+)\]")


def read_corpora() -> Iterator[tuple[str, str, str]]:
    """Yield language, kind and sentence; a kind that begins with ! is a claim."""
    for file in sorted((CORPUS / "claims").glob("*.txt")):
        kind = ""
        for line in file.read_text(encoding="utf-8").splitlines():
            if head := _KIND.fullmatch(line):
                kind = head[1]
            elif line and not line.startswith("#"):
                yield file.stem, kind, line


def joined(rows: list[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield claims that come behind words about the world, in one sentence."""
    order = np.random.RandomState(SEED)
    for language, between in (("en", (", and ", "; ", ", but ", ", by the way, ")), ("de", (", und ", "; "))):
        world = [text for here, kind, text in rows if here == language and kind[0] != "!" and len(text) > 15]
        claims = [(kind, text) for here, kind, text in rows if here == language and kind[0] == "!"]
        for _ in range(JOINED if language == "en" else JOINED // 3):
            kind, claim = claims[order.randint(len(claims))]
            first = world[order.randint(len(world))].rstrip(".!?")
            yield language, kind, first + between[order.randint(len(between))] + claim[0].lower() + claim[1:]
            other = world[order.randint(len(world))]
            yield language, "joined", first + between[order.randint(len(between))] + other[0].lower() + other[1:]


def fit(x: Any, y: Any) -> dict[str, Any]:
    """Return the weights of a network with one hidden layer, by Adam."""
    order = np.random.RandomState(SEED)
    middle, scale = x.mean(0), x.std(0) + 1e-3
    x = (x - middle) / scale
    values = [order.randn(x.shape[1], WIDTH) * 0.03, np.zeros(WIDTH), order.randn(WIDTH) * 0.3, np.zeros(1)]
    first, second = [np.zeros_like(one) for one in values], [np.zeros_like(one) for one in values]
    weight = np.where(y > 0, HEAVIER * 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    step = 0
    total = ROUNDS * (len(x) // BATCH + 1)
    for _ in range(ROUNDS):
        for rows in np.array_split(order.permutation(len(x)), len(x) // BATCH + 1):
            step += 1
            keep = (order.rand(len(rows), x.shape[1]) > 0.2) / 0.8
            some = x[rows] * keep
            hidden = np.maximum(some @ values[0] + values[1], 0)
            chance = 1 / (1 + np.exp(-(hidden @ values[2] + values[3])))
            off = (chance - (y[rows] * 0.96 + 0.02)) * weight[rows] / len(rows)
            back = np.outer(off, values[2]) * (hidden > 0)
            slopes = [some.T @ back, back.sum(0), hidden.T @ off, np.array([off.sum()])]
            for at, slope in enumerate(slopes):
                first[at] = 0.9 * first[at] + 0.1 * slope
                second[at] = 0.999 * second[at] + 0.001 * slope**2
                move = first[at] / (1 - 0.9**step) / (np.sqrt(second[at] / (1 - 0.999**step)) + 1e-8)
                decay = DECAY * values[at] if at in (0, 2) else 0
                values[at] = values[at] - RATE * (1 - step / total) * (move + decay)
    inner = values[0] / scale[:, None]
    return {"inner": inner, "bias": values[1] - middle @ inner, "outer": values[2], "base": values[3]}


def chances(taught: dict[str, Any], x: Any) -> Any:
    """Return how likely each row is a claim."""
    return 1 / (1 + np.exp(-(np.maximum(x @ taught["inner"] + taught["bias"], 0) @ taught["outer"] + taught["base"])))


def main(models: Path) -> None:
    """Make the file, and print the figures."""
    encoder = SentenceEncoder(models / ENCODER)
    rows = list(read_corpora())
    rows += joined(rows)
    x = np.array([features(text, encoder) for _, _, text in rows], np.float64)
    y = np.array([kind.startswith("!") for _, kind, _ in rows], float)
    kinds = np.array([kind for _, kind, _ in rows])
    taught = fit(x, y)
    np.savez_compressed(TAUGHT, **{name: values.astype(np.float16) for name, values in taught.items()})
    if "--left-out" in sys.argv:
        for kind in sorted(set(kinds)):
            out = kinds == kind
            claimed = chances(fit(x[~out], y[~out]), x[out]) > 0.5
            print(f"{kind:12} {100 * (claimed == y[out]).mean():5.1f} % of {out.sum()}")
    print(f"{len(rows):,} sentences, {100 * ((chances(taught, x) > 0.5) == y).mean():.1f} % as written")


if __name__ == "__main__":
    main(Path(next((one for one in sys.argv[1:] if not one.startswith("-")), "models")))
