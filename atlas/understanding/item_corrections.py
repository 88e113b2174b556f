"""Puts right what was just written down: how much and which kind of a thing, whose a task is and its day. Pure."""

from __future__ import annotations

from atlas.understanding import moments
from atlas.understanding.dialogue import UNDO
from atlas.understanding.dialogue_turn import DialogueTurn
from atlas.understanding.meaning import TurnMeaning, leaning
from atlas.understanding.patterns import act_pattern
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import Command


class ItemCorrections:
    """How one language puts things and tasks right; each step is as those of `Corrections`. Immutable."""

    def __init__(self, sentences: SentenceReader) -> None:
        tables = sentences.grammar.tables
        self._sentences = sentences
        self._corrects, self._corrects_one = act_pattern(tables, "corrects"), act_pattern(tables, "corrects_one")
        self._amount_anew, self._of_kind = act_pattern(tables, "amount_anew"), act_pattern(tables, "of_kind")
        self._given_to, self._due_by = act_pattern(tables, "given_to"), act_pattern(tables, "due_by")

    def another_amount(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return one thing of a list with another amount: "make the lemons five", "the potatoes rather three"."""
        match = self._amount_anew.fullmatch(turn.heard.text.strip(" .,!"))
        slots = self._sentences.grammar.slots
        if match is None or not slots.is_amount(match["amount"]):
            return None
        item, last = match["item"].casefold(), turn.last.last
        for exchange in turn.exchanges if last and last.name.startswith("lists.") else ():
            things = [one.name for one in exchange.things if one.topic == "lists" and item in one.name.casefold()]
            anew = slots.with_amount(things[0], match["amount"]) if len(things) == 1 and exchange.last else ""
            if not anew or exchange.last is None:
                continue
            given = {key: value for key, value in exchange.last.arguments.items() if key == "list"}
            changes = (
                Command("lists.remove", {"items": things, **given}),
                Command("lists.add", {"items": [anew], **given}),
            )
            return leaning(changes)
        return None

    def amount_of_one(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return one of the things just put on a list with another amount of its unit: "four tins, it's for us all"."""
        last, slots = turn.last.last, self._sentences.grammar.slots
        amount = self._corrects.sub("", turn.heard.text).split(",")[0].strip(" .!")
        if last is None or last.name != "lists.add" or not turn.last.changed[-1] or not slots.is_amount(amount):
            return None
        items, unit = [str(one) for one in last.arguments.get("items", ())], _stem(amount.split()[-1])
        at = [place for place, item in enumerate(items) if unit in map(_stem, item.split()[:-1])]
        if " " not in amount or len(at) != 1 or not (anew := slots.with_amount(items[at[0]], amount)):
            return None
        items[at[0]] = anew
        return leaning((Command(UNDO, {}), Command(last.name, {**last.arguments, "items": items})))

    def of_what_kind(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the one thing just put on a list with which kind of it is meant: "but organic", "brown, not white"."""
        last, match = turn.last.last, self._of_kind.fullmatch(turn.heard.text.strip(" .,!"))
        if match is None or last is None or last.name != "lists.add" or not turn.last.changed[-1]:
            return None
        items, names = [str(one) for one in last.arguments.get("items", ())], turn.names
        kind = next(filter(None, match.groupdict().values())).replace(",", "")
        spoken, people = {*kind.casefold().split()}, {one.casefold() for one in names.people}
        listed = {thing.name.casefold() for one in turn.exchanges for thing in one.things if thing.topic == "lists"}
        known = self._sentences.commands(turn.heard.text, names, turn.room) or moments.find(kind)
        if len(items) != 1 or known or (listed | people) & spoken or any(map(str.isdigit, kind)):
            return None
        anew = {**last.arguments, "items": [f"{items[0]} ({kind})"]}
        return leaning((Command(UNDO, {}), Command(last.name, anew)))

    def another_thing(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return one thing of a list for another: tomatoes were put on it, "no, potatoes"."""
        match = self._corrects_one.fullmatch(turn.heard.text.strip(" .,!"))
        last = turn.last.last
        if not match or last is None or last.name != "lists.add" or not turn.last.changed[-1]:
            return None
        before = last.arguments.get("items", ())
        parse = self._sentences.parse(match["rest"], turn.names, turn.room, turn.before)
        [made, *more] = parse.commands if parse.act == last.name and parse.is_sure() else [Command("", {})]
        things = made.arguments.get("items", ())
        if more or len(things) != 1 or len(before) != 1 or self._sentences.grammar.is_negated(match["rest"]):
            return None
        return leaning((Command(UNDO, {}), Command(last.name, {**last.arguments, "items": things})))

    def given_to(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the task just spoken of, for somebody else: "give that one to Marcus"."""
        match = self._given_to.match(turn.heard.text.strip(" .,!"))
        tasks = [one for one in turn.last.things if one.topic == "tasks"]
        if match is None or len(tasks) != 1 or turn.heard.text.rstrip().endswith("?"):
            return None
        name = next(filter(None, match.groupdict().values()))
        person = next((one for one in turn.names.people if one.casefold() == name.casefold()), "")
        given = {"title": tasks[0].name, "assignee": person}
        return leaning((Command("tasks.change", given),)) if person else None

    def due_by(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the task just spoken of with the day by which it is to be done: "that has to be in by Friday"."""
        match = self._due_by.fullmatch(turn.heard.text.strip(" .,!"))
        tasks = [one for one in turn.last.things if one.topic == "tasks"]
        day = moments.whole(match["when"]) if match else None
        if day is None or len(tasks) != 1 or {part.kind for part in day.parts} != {"day"}:
            return None
        return leaning((Command("tasks.change", {"title": tasks[0].name, "due": day.text}),))


def _stem(word: str) -> str:
    """Return a unit as it is of one and of several: "tin", "tins"."""
    return word.casefold().rstrip("s")
