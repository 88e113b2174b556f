"""Turn sentences that people wrote for one house into lines of understanding/corpus, which hold in every house.

.venv/bin/python scripts/mask_sentences.py LANGUAGE HOUSE.json FILE...   # prints them; what is wrong, on stderr

A line of FILE is an act (and " < " with the act before it), a tab, and the sentence in ordinary spelling, with marks:
*what is meant*, [words to take as they are], <a place>. The house is as [tools.home.scripted] has it, with "lists".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from train_acts import CORPUS, corpora, read_line

from atlas.understanding.act_model import QUESTION_MARK, has_question_mark
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import open_grammar
from atlas.understanding.masks import Masks
from atlas.understanding.names import NamedDevice, NamedPlace, Names

_MARKS = {"*": ("*", "X"), "[": ("]", "T"), "<": (">", "P")}


def read_house(file: Path) -> Names:
    """Return the names of a house."""
    house = json.loads(file.read_text(encoding="utf-8"))
    rooms, floors = (
        tuple(NamedPlace(one["name"], one.get("floor", ""), tuple(one.get("aliases") or ())) for one in house[kind])
        for kind in ("rooms", "floors")
    )
    devices = tuple(
        NamedDevice(
            *(one["name"], one["kind"], one.get("room", ""), one.get("shape") or ""), tuple(one.get("aliases") or ())
        )
        for one in house["devices"]
        if one["kind"] != "person"
    )
    people = tuple(one["name"] for one in house["devices"] if one["kind"] == "person")
    return Names(devices, rooms, floors, people, tuple(house.get("lists", ())))


def read_marks(marked: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Return a sentence without its marks, and where they stood: start, end, "X", "T" or "P". Raises `ValueError`."""
    text, spans, opened = "", list[tuple[int, int, str]](), list[tuple[str, str, int]]()
    for letter in marked:
        if opened and letter == opened[-1][0]:
            _, kind, start = opened.pop()
            spans.append((start, len(text), kind))
        elif letter in _MARKS:
            opened.append((*_MARKS[letter], len(text)))
        elif letter in "]>":
            raise ValueError(f"{letter} closes nothing")
        else:
            text += letter
    if opened:
        raise ValueError(f"{opened[-1][0]} is missing")
    return text, spans


def mask(text: str, spans: list[tuple[int, int, str]], masks: Masks, names: Names) -> str:
    """Return a sentence as a corpus has it."""
    words, inside = [], {one: list[int]() for one in spans if one[2] != "X"}
    for piece in masks.pieces(text, names):
        around = [one for one in spans if one[0] < piece.end and piece.start < one[1]]
        word = piece.mask
        if word.startswith("{") and piece.token and not any(kind == "X" for *_, kind in around):
            word = "{~" + word[1:]
        for one in around:
            if one[2] != "X":
                inside[one].append(len(words))
        words.append(word.replace("{~PERSON}", "{PERSON}").replace("{~LIST}", "{LIST}"))
    for (start, end, kind), places in inside.items():
        if not places:
            raise ValueError(f"nothing is left of {text[start:end]!r}")
        before, after = ("[", "]") if kind == "T" else ("<", ">")
        words[places[0]] = before + words[places[0]]
        words[places[-1]] += after
    return " ".join([*words, *([QUESTION_MARK] if has_question_mark(text) else [])])


def masked(language: str, house: Path, files: list[Path]) -> Iterator[str]:
    """Yield the lines of a corpus, each once; what cannot be read is told on stderr."""
    grammar = open_grammar(language)
    masks = Masks(Frames(grammar.tables.get("frames", {}), grammar.digits).lexicon, grammar.digits)
    names, acts, seen = read_house(house), {read_line(line)[0] for line in corpora()}, set[str]()
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            head, _, sentence = line.partition("\t")
            unknown = [act for act in head.split(" < ") if act not in acts]
            try:
                if unknown:
                    raise ValueError(f"no such act: {unknown[0]!r}")  # noqa: TRY301  told below, with its line
                made = f"{head}\t{mask(*read_marks(sentence.strip()), masks, names)}"
            except ValueError as trouble:
                print(f"{file}:{number}: {trouble}: {line!r}", file=sys.stderr)
                continue
            if made not in seen:
                seen.add(made)
                yield made


if __name__ == "__main__":
    match sys.argv[1:]:
        case [language, house, *files] if files and (CORPUS / language).is_dir():
            print(*masked(language, Path(house), list(map(Path, files))), sep="\n")
        case _:
            sys.exit(__doc__)
