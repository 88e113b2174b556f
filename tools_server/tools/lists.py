"""Shopping and other lists: one Markdown file a list, which people may edit while the server runs.

The files lie in the agent's own folder, as lists/shopping.md. A line "- [ ] bread" is a thing to get, "- [x] bread"
one that is ticked off, and "- bread" will do. Every other line stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Annotated

from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, folder_tool
from tools_server.sdk.wording import capital, chosen, one_line, plain, some, spoken, told_problems
from tools_server.values.language import in_context, noun, plural, series
from tools_server.values.language import text as _
from tools_server.values.paths import PathDenied
from tools_server.values.shapes import PROBLEM
from tools_server.writing.bullets import Bullet, BulletPaper, text_of
from tools_server.writing.papers import Unreadable, problem, put_back, read_text, written

FOLDER = "lists"
SHOPPING = "shopping"  # is there even before its file is
_IN_GERMAN = ("einkauf", "einkäufe", "einkaufen", "einkaufsliste")  # unless there is a file of that name
MOST_ITEMS = 500  # of one list
MOST_LISTS = 200
READ_OUT = 15  # people in a shop want to hear them all

Items = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]],
    Field(min_length=1, max_length=50, description='The things, such as "2 litres of milk"'),
]
ItemsOrNone = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]],
    Field(max_length=50, description='The things, such as "2 litres of milk"; none only makes the list'),
]
Texts = list[str]  # an argument of the tools is called list, too
Name = Annotated[str, Field(max_length=80, description="Which list")]


@dataclass(frozen=True, slots=True)
class ListPaper(BulletPaper):
    """One list, as read."""

    name: str  # "shopping"


_WORD = re.compile(r"[^\W_]")
# Behind one of these, words say more of the same thing: "wipes for the baby".
_JOINING = frozenset(
    {"of", "for", "from", "with", "without", "on", "in", "at", "to", "and", "or", "that", "which", "by"}
    | {"für", "von", "vom", "aus", "mit", "ohne", "im", "am", "zum", "zur", "und", "oder", "der", "die", "das"}
)


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@folder_tool("lists.add", data={"list": str, "added": [str], "already": [str]}, risk="change")
async def add(call: Call, items: ItemsOrNone, list: Name = SHOPPING) -> Result:
    """Put things on the shopping list or another list, which is made when there is none of that name."""
    sheet = _found(call, list, make=True)
    if not items:
        return _made(call, sheet)
    after, added, had, altered = sheet, [], [], []
    for wanted in _apart(sheet, items):
        old = _same(after.bullets, wanted)
        if old is None:
            after = after.with_line(f"[ ] {wanted}", sheet.name.capitalize())
            added.append(wanted)
        elif old.checked:
            after = after.with_bullet(old, wanted, checked=False)
            added.append(wanted)
        elif _amount(wanted) and plain(wanted) != plain(old.text):
            after = after.with_bullet(old, wanted, checked=False)
            altered.append(_("{text} to {wanted}").format(text=old.text, wanted=wanted))
        else:
            had.append(old.text)
    if len(after.bullets) > MOST_ITEMS:
        raise ToolFailed(
            "failed",
            _("{the} is full: {most_items} things are on it.").format(the=capital(_the(sheet)), most_items=MOST_ITEMS),
        )
    texts = []
    if added:
        texts.append(capital(_("Added {some} to {the}.").format(some=some(added, READ_OUT), the=_the(sheet))))
    if altered:
        texts.append(capital(_("Changed {some}.").format(some=some(altered))))
    if had:
        texts.append(
            plural(
                "{items} is already on {list}.",
                "{items} are already on {list}.",
                len(had),
                items=capital(some(had)),
                list=_the(sheet),
            )
        )
    return _written(call, sheet, after, " ".join(texts), {"added": added, "already": had})


@folder_tool("lists.read", data={"list": str, "items": [{"text": str, "checked": bool}]}, risk="read")
async def read(
    call: Call,
    list: Name = SHOPPING,
    item: Annotated[str, Field(max_length=100, description="Only tell whether this is on it")] = "",
) -> Result:
    """Tell what is on the shopping list or another list, or whether one thing is."""
    sheet = _found(call, list)
    items = [{"text": item.text, "checked": item.checked} for item in sheet.bullets]
    if item.strip():
        return Result(_whether(sheet, one_line(item)), {"list": sheet.name, "items": items})
    left = [item.text for item in sheet.bullets if not item.checked]
    if left:
        text = plural(
            "There is {count} thing on {list}: {items}.",
            "There are {count} things on {list}: {items}.",
            len(left),
            list=_the(sheet),
            items=some(left, READ_OUT),
        )
    elif sheet.bullets:
        text = _("Everything on {the} is ticked off.").format(the=_the(sheet))
    else:
        text = _("{the} is empty.").format(the=capital(_the(sheet)))
    return Result(text, {"list": sheet.name, "items": items})


@folder_tool("lists.check", data={"list": str, "checked": [str], "already": [str]}, risk="change", idempotent=True)
async def check(call: Call, items: Items, list: Name = SHOPPING) -> Result:
    """Tick things off a list: they are bought or done."""
    sheet = _found(call, list)
    after = sheet
    ticked: Texts = []
    had: Texts = []
    for item in _chosen(sheet, items):
        (had if item.checked else ticked).append(item.text)
        after = after.with_bullet(item, item.text, checked=True)
    sentence = (
        capital(_("Ticked off {items}.").format(items=some(ticked, READ_OUT)))
        if ticked
        else plural(
            "{items} was already ticked off.", "{items} were already ticked off.", len(had), items=capital(some(had))
        )
    )
    return _written(call, sheet, after, sentence, {"checked": ticked, "already": had})


@folder_tool("lists.remove", data={"list": str, "removed": [str]}, risk="change")
async def remove(call: Call, items: Items, list: Name = SHOPPING) -> Result:
    """Take things off a list, as if they had never been on it. For what is bought, use lists.check."""
    sheet = _found(call, list)
    gone = _chosen(sheet, items)
    taken = [item.text for item in gone]
    return _written(
        call,
        sheet,
        sheet.without(gone),
        capital(_("Took {some} off {the}.").format(some=some(taken, READ_OUT), the=_the(sheet))),
        {"removed": taken},
    )


async def _clear_question(call: Call, list: str, checked_only: bool) -> str:
    sheet = _found(call, list)
    gone = _to_clear(sheet, checked_only)
    ticked = _(", which is ticked off,") if checked_only else ""
    if len(gone) == 1:
        return _("Take {text}{ticked} off {the}?").format(text=spoken(gone[0].text), ticked=ticked, the=_the(sheet))
    which = _(" ticked off") if checked_only else ""
    return _("Take the {count}{which} off {the}: {some}?").format(
        count=plural("{count} thing", "{count} things", len(gone)),
        which=which,
        the=_the(sheet),
        some=some(item.text for item in gone),
    )


@folder_tool("lists.clear", data={"list": str, "removed": [str]}, risk="destructive", preview=_clear_question)
async def clear(
    call: Call,
    list: Name = SHOPPING,
    checked_only: Annotated[bool, Field(description="Only what is ticked off")] = False,
) -> Result:
    """Take everything off a list, or everything that is ticked off."""
    sheet = _found(call, list)
    gone = _to_clear(sheet, checked_only)
    text = _("Took {count} off {the}.").format(
        count=plural("{count} thing", "{count} things", len(gone)), the=_the(sheet)
    )
    return _written(call, sheet, sheet.without(gone), text, {"removed": [item.text for item in gone]})


async def _delete_question(call: Call, list: str) -> str:
    sheet = _deletable(call, list)
    if not sheet.bullets:
        return _("Delete {the}? Nothing is on it.").format(the=_the(sheet))
    return _("Delete {the} with {count}: {some}?").format(
        the=_the(sheet),
        count=plural("{count} thing", "{count} things", len(sheet.bullets)),
        some=some(item.text for item in sheet.bullets),
    )


@folder_tool("lists.delete", data={"list": str}, risk="destructive", preview=_delete_question)
async def delete(call: Call, list: Name = SHOPPING) -> Result:
    """Delete a whole list with everything on it. The shopping list always stays."""
    sheet = _deletable(call, list)
    text = _("Deleted {the}.").format(the=_the(sheet))
    return Result(text, {"list": sheet.name}, written(call, sheet.file, sheet.stamp, (sheet.text, None), text))


@folder_tool("lists.names", data={"lists": [{"name": str, "left": int}], "problems": [PROBLEM]}, risk="read")
async def names(call: Call) -> Result:
    """Tell which lists there are."""
    sheets, problems = _all(call)
    messages = [
        _("{name} with {count}").format(
            name=in_context("name of a list", "shopping") if sheet.name == SHOPPING else noun(sheet.name),
            count=plural("{count} thing", "{count} things", _left(sheet)),
        )
        for sheet in sheets
    ]
    text = plural(
        "There is {count} list: {lists}.", "There are {count} lists: {lists}.", len(sheets), lists=series(messages)
    )
    data = {"lists": [{"name": sheet.name, "left": _left(sheet)} for sheet in sheets], "problems": problems}
    return Result(text + told_problems(problems), data)


undo = put_back  # of its file, unless somebody has edited it since


def _left(sheet: ListPaper) -> int:
    return sum(not item.checked for item in sheet.bullets)


def _written(call: Call, sheet: ListPaper, after: ListPaper, sentence: str, data: dict[str, object]) -> Result:
    data = {"list": sheet.name, **data}
    if after.text == sheet.text:
        return Result(sentence, data)
    return Result(sentence, data, written(call, sheet.file, sheet.stamp, (sheet.text, after.text), sentence))


def _made(call: Call, sheet: ListPaper) -> Result:
    """Make a list with nothing on it; there may be one already."""
    the = _the(sheet)
    data: dict[str, object] = {"added": [], "already": []}
    if sheet.stamp is not None or sheet.name == SHOPPING:
        return _written(call, sheet, sheet, capital(_("There is {the} already.").format(the=the)), data)
    text = capital(_("Made {the}. Nothing is on it yet.").format(the=the))
    return _written(call, sheet, replace(sheet, text=f"# {sheet.name.capitalize()}\n\n"), text, data)


# ── which list ─────────────────────────────────────────────────────────────────────────────────────


def _found(call: Call, wanted: str, *, make: bool = False) -> ListPaper:
    """Return the list that is meant. One that nobody has made is there only when `make`, or when it is shopping."""
    name = _list_name(wanted)
    known = {plain(title): file for file, title in _files(call)}
    known.setdefault(SHOPPING, f"{FOLDER}/{SHOPPING}.md")
    if name in _IN_GERMAN and name not in known:
        name = SHOPPING
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    if name not in known and near:
        name = near[0]
    if name not in known and not make:
        nearest = get_close_matches(name, known, n=1, cutoff=0.4)
        hint = _(" The nearest is {nearest}.").format(nearest=nearest[0]) if nearest else ""
        raise ToolFailed(
            "not_found",
            _("There is no list called {name}.{hint}").format(name=spoken(name), hint=hint),
            nearest=nearest,
        )
    if name not in known and len(known) >= MOST_LISTS:
        raise ToolFailed("failed", _("There are already {most_lists} lists.").format(most_lists=MOST_LISTS))
    if not _WORD.search(name):
        raise ToolFailed("invalid", _("Give the list a name in words."))
    call.permit(list=name)
    file = known.get(name) or f"{FOLDER}/{name}.md"  # nothing but words is left of it
    return ListPaper(file, *text_of(call.home, file), name)


def _deletable(call: Call, wanted: str) -> ListPaper:
    """Return the list that is meant, unless it is the one that is there before its file is."""
    sheet = _found(call, wanted)
    if sheet.name == SHOPPING:
        raise ToolFailed("invalid", _("The shopping list always stays. Say “clear the shopping list” to empty it."))
    return sheet


def _list_name(wanted: str) -> str:
    """Return "shopping" of "the shopping list", "my groceries" and "shopping.md"."""
    words = [word for word in plain(wanted).removesuffix(" md").split() if word not in ("the", "my", "our", "list")]
    name = " ".join(words)
    return SHOPPING if name in ("", "grocery", "groceries") else name


def _files(call: Call) -> Iterator[tuple[str, str]]:
    for file, _entry in call.home.walk(FOLDER, 0):
        title = file.removeprefix(f"{FOLDER}/").removesuffix(".md").replace("-", " ")
        if file.endswith(".md") and _WORD.search(title):  # nobody can ask for a list whose name has no word
            yield file, _list_name(title)


def _all(call: Call) -> tuple[list[ListPaper], list[dict[str, str]]]:
    sheets, problems = {SHOPPING: ListPaper(f"{FOLDER}/{SHOPPING}.md", "", None, SHOPPING)}, []
    for file, name in _files(call):
        try:
            sheets[name] = ListPaper(file, *read_text(call.home, file), name)
        except (Unreadable, PathDenied) as wrong:
            problems.append(problem(file.removeprefix(f"{FOLDER}/"), wrong))
    return [*sheets.values()], problems


def _the(sheet: ListPaper) -> str:
    if sheet.name == SHOPPING:
        return _("the shopping list")
    return _("the {name} list").format(name=noun(spoken(sheet.name)))


# ── which things ───────────────────────────────────────────────────────────────────────────────────

_NUMBER = r"(?:\d+(?:[.,/]\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|half(?: an?)?|some|a few)"
_UNIT = (
    r"(?:kilos?|kilograms?|grams?|lit(?:re|er)s?|pounds?|ounces?|pints?|gallons?|pairs?|packs?|packets?|bags?|box(?:es)?"
    r"|bottles?|cans?|tins?|jars?|loa(?:f|ves)|slices?|bunch(?:es)?|heads?|rolls?|pieces?)"
)
_SHORT = r"(?:kg|g|l|ml|cl|lbs?|oz|dozen)"  # these need no "of"
_AMOUNT = re.compile(
    rf"(?:{_NUMBER}\s*)?(?:{_UNIT}\s+of\s+|{_SHORT}\s+(?:of\s+)?)(?=\S)|{_NUMBER}\s+(?=\S)", re.IGNORECASE
)
# It begins where spaces and digits do: tried at each of a thousand digits, it would read them all a thousand times.
_TIMES = re.compile(r"(?<!\s)\s*(?:\(?[x×]\s?\d+\)?|(?<!\d)\d+\s?[x×])\s*$", re.IGNORECASE)
_AND = re.compile(r"\b(?:and|und)\b(?=\s)", re.IGNORECASE)
_BEFORE = re.compile(r"^(?:and|und|some)\s+", re.IGNORECASE)
_TWO_WORDS = re.compile(r"\s*[^\W\d]+\s+(?:and|und)\s+[^\W\d]+[\s.!?]*", re.IGNORECASE)  # "…, cheese and butter"
_ONE_THING = ("mac and cheese", "fish and chips", "salt and pepper", "half and half")  # an "and" that parts nothing


def _apart(sheet: ListPaper, items: Sequence[str]) -> list[str]:
    """Return the things one by one: a single text may name several ("bread, eggs and milk"), or one that is there."""
    parted = len(items) == 1
    if parted and _same(sheet.bullets, items[0]):
        return [*items]
    if parted:
        items = re.split(r"[;\n]|,(?!\d)", items[0])
    last = items[-1]
    if (parted or _TWO_WORDS.fullmatch(last)) and plain(_BEFORE.sub("", one_line(last))) not in _ONE_THING:
        items = [*items[:-1], *_AND.split(last)]
    cleaned = (re.sub(r"[.!?]+$", "", _BEFORE.sub("", one_line(item))) for item in items)
    things = list(dict.fromkeys(item for item in cleaned if item))
    if not things:
        raise ToolFailed("invalid", _("What shall I put on the list?"))
    return things


def _amount(text: str) -> str:
    """Return the quantity that a thing begins or ends with, "" when it has none."""
    begins, ends = _AMOUNT.match(text), _TIMES.search(text)
    return begins[0] if begins else ends[0] if ends else ""


def _key(text: str) -> str:
    """Return what makes two things the same: "2 litres of milk" is milk, and an egg is eggs."""
    words = plain(_TIMES.sub("", _AMOUNT.sub("", one_line(text), count=1) if _AMOUNT.match(text) else text)).split()
    if words and len(words[-1]) > 3 and words[-1].endswith("s") and not words[-1].endswith("ss"):
        stem = words[-1][:-1]
        words[-1] = f"{stem[:-2]}y" if stem.endswith("ie") else stem[:-1] if stem.endswith("oe") else stem
    return " ".join(words)


def _same(items: Sequence[Bullet], wanted: str) -> Bullet | None:
    matching_items = [item for item in items if _key(item.text) == _key(wanted)]
    return min(matching_items, key=lambda item: item.checked, default=None)


def _chosen(sheet: ListPaper, wanted: Sequence[str]) -> list[Bullet]:
    """Return the things that are meant. Raises `ToolFailed` when one is not on the list, and then none is touched."""
    items = wanted if len(wanted) > 1 else _apart(sheet, wanted)
    return list(dict.fromkeys(_item(sheet, item) for item in items))


def _item(sheet: ListPaper, wanted: str) -> Bullet:
    return _same(sheet.bullets, wanted) or chosen(
        sheet.bullets,
        wanted,
        named=lambda item: item.text,
        which=_("Which one"),
        missing=_("There is no {wanted} on {the}.").format(wanted=spoken(wanted), the=_the(sheet)),
        rank=lambda item: item.line,
        avoided=lambda item: item.checked,
        holds=lambda item: _is_named_by(item.text, wanted),
    )


def _is_named_by(text: str, wanted: str) -> bool:
    """Whether words name a thing, and no other that begins with them: "milk" is oat milk, but not milk chocolate."""
    words, [*_, last] = plain(re.split(r"[(,;]", text)[0]).split(), plain(wanted).split() or [""]
    return any(
        word == last and (behind in _JOINING or not behind.isalpha())
        for word, behind in zip(words, [*words[1:], ""], strict=True)
    )


def _whether(sheet: ListPaper, wanted: str) -> str:
    """Return whether a thing is on a list: "milk" is, where "2 litres of milk" are."""
    words = {*plain(wanted).split()}
    item = next((one for one in sheet.bullets if words <= {*plain(one.text).split()}), None)
    if item is None:
        return _("{item} is not on {the}.").format(item=capital(spoken(wanted)), the=_the(sheet))
    sentence = _("{item} is on {the}, ticked off.") if item.checked else _("{item} is on {the}.")
    return sentence.format(item=capital(spoken(item.text)), the=_the(sheet))


def _to_clear(sheet: ListPaper, checked_only: bool) -> list[Bullet]:
    gone = [item for item in sheet.bullets if item.checked or not checked_only]
    if not gone:
        empty = _("{the} is empty already.").format(the=capital(_the(sheet)))
        raise ToolFailed(
            "not_found", _("Nothing is ticked off on {the}.").format(the=_the(sheet)) if sheet.bullets else empty
        )
    return gone
