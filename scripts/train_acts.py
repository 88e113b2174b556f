"""Make encoder.npz and acts.npz of understanding/corpus/??/*.txt: what the encoder is taught, and two heads on it.

.venv/bin/python scripts/train_acts.py prepare FOLDER E5_FILE   # here: rows in numbers, and the layers that are taught
python scripts/train_acts.py fit FOLDER MINUTES                  # where torch is, best on a GPU: 6 minutes of an H100
python scripts/train_acts.py go_on FOLDER MINUTES                # from what is taught by now: an hour of two cores
.venv/bin/python scripts/train_acts.py install FOLDER            # here: into the corpus folder; prints the figures

E5_FILE is the encoder in its package (models/catalogue.toml says which). Each matrix W of the first layers is taught a
change of low rank, W + B A (LoRA; Hu et al., 2021); labels of words are a chain (conditional random field). A
sentence is read twice with other parts left out, and both readings shall agree (R-Drop; Liang et al., 2021); but once
where there is no GPU, for the second reading and its slope take two thirds of the time.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).parent.parent / "atlas" / "understanding" / "corpus"
TAUGHT = (CORPUS / "encoder.npz", CORPUS / "acts.npz")  # convert_e5.py reads the one, act_model.py the other
LAYERS = 8  # of 12: with all of them it is half a point better and takes twice as long
RANK = 12
HELD_OUT = 0.05  # of the rows: they are only measured
WORDS, PIECES = 40, 64  # of the longest sentence that is learnt from
LONG = 20  # pieces: of such ones the figures are printed by themselves
BATCH, RATE, RATE_ON, WARM = 128, 2e-3, 7e-4, 0.06
DROP, DROP_WORD, DROP_BEFORE, SMOOTH, AGREE = 0.1, 0.03, 0.1, 0.05, 1.0
SLOT_WIDTH = 128
MATRICES = {"q": (384, 384), "k": (384, 384), "v": (384, 384), "ao": (384, 384), "fi": (1536, 384), "fo": (384, 1536)}
VECTORS = ("q.b", "k.b", "v.b", "ao.b", "aln.w", "aln.b", "fi.b", "fo.b", "oln.w", "oln.b")
_PIECE = re.compile(r"[\[<]?(?:\{[^}]*\}|[^\s\]>]+)[\]>]?")
_NEVER_MEANT = ("{N}", "{WHEN}", "{DELAY}", "{DURATION}", "{PERSON}", "{LIST}")


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
        elif label == "O" and mask.startswith("{") and mask not in _NEVER_MEANT:
            label = "X"
        masks.append(mask)
        if mask != "?":  # act_model.QUESTION_MARK, which is not there where torch is
            labels.append(label)
        if piece[-1] in "]>":
            inside = ""
    return act, before, masks, labels


def corpora() -> Iterator[str]:
    """Yield the lines of all corpora."""
    from atlas.understanding.act_model import corpus_lines  # which is not there where torch is

    for language in sorted(CORPUS.glob("??")):
        yield from corpus_lines(language.name)


def prepare(folder: Path, published: Path) -> None:
    """Write what `fit` needs, and no more than that, into `folder`."""
    from atlas.models import convert_e5
    from atlas.understanding.act_model import LABELS, input_of
    from atlas.understanding.encoder import PIECES as NAMES
    from atlas.understanding.encoder import Tokens
    from atlas.understanding.parser import SILENT

    folder.mkdir(parents=True, exist_ok=True)
    convert_e5.pieces(published, folder / NAMES)
    tokens, base = Tokens(folder / NAMES), convert_e5.Published(published)
    rows = [row for row in map(read_line, corpora()) if len(row[2]) <= WORDS]
    acts = sorted({row[0] for row in rows})
    made = []
    for act, before, masks, labels in rows:
        read = input_of(masks, before, tokens)
        if len(read.pieces) <= PIECES:
            slots = [LABELS.index(label) for label in labels] if act not in SILENT else []
            made.append([acts.index(act), list(read.pieces), list(read.kinds), list(read.starts), slots])
    used = sorted({piece for row in made for piece in row[1]} | {0, 1, 2, 3})
    place = {piece: at for at, piece in enumerate(used)}
    for row in made:
        row[1] = [place[piece] for piece in row[1]]
    tensors: dict[str, Any] = {
        f"{name}.w": np.stack([base.matrix(f"l{at}.{name}.w", *shape) for at in range(LAYERS)])
        for name, shape in MATRICES.items()
    }
    tensors |= {name: np.stack([base.values(f"l{at}.{name}") for at in range(LAYERS)]) for name in VECTORS}
    words = base.matrix("emb.word", base.words, base.width, base.chosen[used])
    places, kinds = (base.values(f"emb.{name}").reshape(-1, base.width) for name in ("pos", "type"))
    np.savez_compressed(
        folder / "base.npz",
        **{name: values.astype(np.float16) for name, values in tensors.items()},
        words=words.astype(np.float16),
        places=places[:PIECES],
        kind=kinds[0],
        norm_w=base.values("emb.ln.w"),
        norm_b=base.values("emb.ln.b"),
    )
    silent = [act in SILENT for act in acts]
    (folder / "rows.json").write_text(json.dumps({"acts": acts, "silent": silent, "rows": made}))
    print(f"{len(made):,} rows, {len(acts)} acts, {len(used):,} pieces of words")


def fit(folder: Path, minutes: float, seed: int = 1, *, on: Iterable[Path] = ()) -> None:
    """Teach, from nothing or from what files `on` hold, and write taught.npz into `folder`."""
    import torch

    torch.manual_seed(seed)
    order = random.Random(seed)  # noqa: S311  nothing secret
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stored = json.loads((folder / "rows.json").read_text())
    rows = stored["rows"]
    order.shuffle(rows)
    held = int(len(rows) * HELD_OUT)
    from _acts_model import ActsModel, batch_of, measure  # beside this file: all of it is torch

    model = ActsModel(dict(np.load(folder / "base.npz")), len(stored["acts"]), sys.modules[__name__], device)
    if on:
        model.start_from({name: values for file in on for name, values in np.load(file).items()}, stored["acts"])
    test, train = batch_of(rows[:held], device), batch_of(rows[held:], device)
    highest = RATE_ON if on else RATE
    groups = torch.optim.AdamW(model.parameters(), lr=highest, weight_decay=0.01, betas=(0.9, 0.98))
    lengths = train.lengths.cpu().numpy()
    began, step, shown = time.monotonic(), 0, 0.0
    silent = torch.tensor(stored["silent"], device=device)
    long = test.rows((test.lengths >= LONG).nonzero()[:, 0])

    def show() -> None:
        print(
            f"{100 * done:3.0f} %, {step * BATCH / len(lengths):.1f} times, {measure(model, test, silent)}; "
            f"of {LONG} pieces and more {measure(model, long, silent)}",
            flush=True,
        )

    while (done := (time.monotonic() - began) / (60 * minutes)) < 1:
        mixed = np.random.RandomState(step).permutation(len(lengths))
        chunks = np.array_split(mixed, max(1, len(mixed) // (BATCH * 16)))  # of alike length inside of each
        mixed = np.concatenate([chunk[np.argsort(lengths[chunk], kind="stable")] for chunk in chunks])
        starts = list(range(0, len(mixed), BATCH))
        order.shuffle(starts)
        for start in starts:
            done = (time.monotonic() - began) / (60 * minutes)
            if done >= 1:
                break
            rate = done / WARM if done < WARM else 0.5 * (1 + math.cos(math.pi * (done - WARM) / (1 - WARM)))
            for group in groups.param_groups:
                group["lr"] = highest * rate
            loss = model.loss(train.rows(torch.tensor(mixed[start : start + BATCH], device=device)))
            groups.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            groups.step()
            step += 1
            if done - shown > 0.2:
                shown = done
                show()
    show()
    weights = {name: values.detach().float().cpu().numpy() for name, values in model.named_parameters()}
    np.savez_compressed(folder / "taught.npz", **whole_numbers(weights), acts=np.array(json.dumps(stored["acts"])))


def whole_numbers(taught: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was taught as convert_e5.py and act_model.py read it: changes in 8 bits, the rest in 16."""
    stored: dict[str, Any] = {}
    for name, values in taught.items():
        if not name.startswith(("A_", "B_")):
            stored[name.replace("__", ".")] = values.astype(np.float16)
    for short in MATRICES:
        left, right = taught[f"B_{short}"].astype(np.float64), taught[f"A_{short}"].astype(np.float64)
        for row, column in zip(left, right, strict=True):  # of a layer: what one side gives, the other takes
            sizes = np.linalg.norm(row, axis=0), np.linalg.norm(column, axis=1)
            share = np.sqrt(np.maximum(sizes[0], 1e-9) / np.maximum(sizes[1], 1e-9))
            row /= share[None]
            column *= share[:, None]
        for side, values, axis in (("B", left, 2), ("A", right, 1)):
            scale = (np.maximum(np.abs(values).max(axis, keepdims=True), 1e-3) / 127).astype(np.float16)
            stored[f"{side}.{short}"] = np.clip(np.rint(values / scale), -127, 127).astype(np.int8)
            stored[f"{side}.{short}.scale"] = scale.squeeze(axis)
    return stored | {"layers": np.arange(LAYERS, dtype=np.int8)}


def install(folder: Path) -> None:
    """Put what was taught into the corpus folder, with the hash of what it was taught from."""
    import hashlib

    from atlas.understanding.act_model import HEADS

    taught_from = "".join(f"{line}\n" for line in corpora()).encode()
    stored = {**np.load(folder / "taught.npz"), "corpora": np.array(hashlib.sha256(taught_from).hexdigest())}
    head_names = [name for name in stored if name in (*HEADS, "acts", "corpora")]
    encoder_names = [name for name in stored if name not in head_names]
    for file, names in zip(TAUGHT, (encoder_names, head_names), strict=True):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as out:
            for name in names:
                with out.open(f"{name}.npy", "w") as array:
                    np.lib.format.write_array(array, np.asanyarray(stored[name]), allow_pickle=False)
        print(f"{file.name}: {file.stat().st_size:,} bytes")
    print("the catalogue's hash of model.bin must follow")


if __name__ == "__main__":
    deeds = {"prepare": prepare, "fit": fit, "install": install}
    match sys.argv[1:]:
        case ["prepare", folder, published]:
            prepare(Path(folder), Path(published))
        case ["fit", folder, minutes, *seed]:
            fit(Path(folder), float(minutes), *map(int, seed))
        case ["go_on", folder, minutes, *seed]:
            fit(Path(folder), float(minutes), *map(int, seed), on=TAUGHT)
        case ["install", folder]:
            install(Path(folder))
        case _:
            sys.exit(__doc__)
