"""Make understanding/corpus/<language>.npz of <language>.txt there: the classifier of acts and the tagger of slots.

pip install --target FOLDER scikit-learn python-crfsuite
PYTHONPATH=FOLDER .venv/bin/python scripts/train_parser.py en models/all-minilm-l6-v2
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pycrfsuite
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression

from atlas.understanding.encoder import Encoder
from atlas.understanding.learned import DIRECTION_SCALE, LABELS, act_features, slot_features
from atlas.understanding.parser import SILENT

CORPUS = Path(__file__).parent.parent / "atlas" / "understanding" / "corpus"
LEAST_SEEN = 2  # times, of a feature
LEAST_LEVEL = 2  # of 127, of a weight that is kept: of the others there are many, and they weigh little
INVERSE_PENALTY = 30.0
_PIECE = re.compile(r"[\[<]?(?:\{[^}]*\}|[^\s\]>]+)[\]>]?")


def read_line(line: str) -> tuple[str, str, list[str], list[str]]:
    """Return the act, the act before it ("" for none), the masks and the labels of a line of a corpus."""
    head, sentence = line.split("\t")
    act, _, before = head.partition(" < ")
    masks, labels, inside = [], [], ""
    for piece in _PIECE.findall(sentence):
        begins = {"[": "T", "<": "P"}.get(piece[0], "") if len(piece) > 1 else ""
        inside, label = (begins, f"B-{begins}") if begins else (inside, f"I-{inside}" if inside else "O")
        mask = piece.strip("[]<>")
        if mask.startswith("{~"):
            mask = "{" + mask[2:]
        elif label == "O" and mask.startswith("{") and _is_target(mask):
            label = "X"
        masks.append(mask)
        labels.append(label)
        if piece[-1] in "]>":
            inside = ""
    return act, before, masks, labels


def _is_target(mask: str) -> bool:
    return mask not in ("{N}", "{WHEN}", "{DELAY}", "{DURATION}", "{PERSON}", "{LIST}")


def words_of(masks: Sequence[str]) -> list[str]:
    """Return masks as the classifier sees them."""
    return [mask.strip("{}").lower() for mask in masks]


def read_corpus(file: Path) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yield the lines of a corpus."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield read_line(line)


def train(rows: Sequence[tuple[str, str, list[str], list[str]]], vector: Encoder | None) -> dict[str, np.ndarray]:
    """Return both models, as learned.py reads them."""
    features = [act_features(words_of(masks), before) for _, before, masks, _ in rows]
    counts = Counter(one for row in features for one in row)
    words = sorted(one for one, count in counts.items() if count >= LEAST_SEEN)
    places = {word: at for at, word in enumerate(words)}
    seen = csr_matrix(
        (
            np.array([1 / np.sqrt(len(row)) for row in features for one in row if one in places], np.float32),
            (
                [at for at, row in enumerate(features) for one in row if one in places],
                [places[one] for row in features for one in row if one in places],
            ),
        ),
        shape=(len(rows), len(words)),
    )
    if vector:
        directions = np.array([vector.vector(" ".join(words_of(masks))) for _, _, masks, _ in rows]) * DIRECTION_SCALE
        seen = hstack([seen, csr_matrix(directions)]).tocsr()
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=200).fit(seen, [act for act, *_ in rows])
    weights = model.coef_[:, : len(words)].T
    scales = np.abs(weights).max(axis=0) / 127
    levels = np.rint(weights / scales).astype(np.int8)
    levels[np.abs(levels) < LEAST_LEVEL] = 0
    slot_words, slot_weights, steps = tagger(rows)
    return {
        "acts": np.array(json.dumps([*model.classes_])),
        "words": np.array(json.dumps(words)),
        "weights": levels,
        "scales": scales.astype(np.float32),
        "direction": model.coef_[:, len(words) :].astype(np.float16),
        "bias": model.intercept_.astype(np.float32),
        "slot_features": np.array(json.dumps(slot_words)),
        "slot_weights": slot_weights.astype(np.float16),
        "slot_steps": steps.astype(np.float32),
    }


def tagger(rows: Sequence[tuple[str, str, list[str], list[str]]]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the features of the tagger, their weights for each label, and the weight of each step."""
    trainer = pycrfsuite.Trainer(verbose=False)
    for act, _, masks, labels in rows:
        if act not in SILENT:
            trainer.append([*slot_features(masks, act)], labels)
    trainer.set_params({"c1": 0.05, "c2": 0.02, "max_iterations": 120, "feature.possible_transitions": True})
    with tempfile.NamedTemporaryFile() as file:
        trainer.train(file.name)
        opened = pycrfsuite.Tagger()
        opened.open(file.name)
        info = opened.info()
    names = sorted({feature for feature, _ in info.state_features})
    places = {name: at for at, name in enumerate(names)}
    weights, steps = np.zeros((len(names), len(LABELS))), np.full((len(LABELS), len(LABELS)), -5.0)
    for (feature, label), weight in info.state_features.items():
        weights[places[feature], LABELS.index(label)] = weight
    for (one, other), weight in info.transitions.items():
        steps[LABELS.index(one), LABELS.index(other)] = weight
    return names, weights, steps


def main(language: str, encoder: str = "") -> None:
    """Write the models of one language, with the encoder in a folder, or without any."""
    file = CORPUS / f"{language}.txt"
    made = train([*read_corpus(file)], Encoder(Path(encoder)) if encoder else None)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    np.savez_compressed(file.with_suffix(".npz"), **made, corpus=np.array(digest))
    print(f"{file.with_suffix('.npz')}: {file.with_suffix('.npz').stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
