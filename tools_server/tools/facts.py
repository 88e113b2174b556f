"""Facts: what people asked to be remembered, one line each, in Markdown that they may edit while the server runs.

What is everybody's lies in facts/household.md of the agent's own folder, what is a person's own in facts/people (see
writing/private_papers.py): it is theirs alone to hear, also where an owner asks. Who speaks is not always known, and
then it is everybody's. Children change what is their own; guests neither hear nor change anything (policy.toml). A line
"- Anna is allergic to nuts" is a fact; every other line stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Annotated

from pydantic import Field

from tools_server.sdk.state import ChangeReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, folder_tool
from tools_server.sdk.wording import capital, one_line, plain, spoken
from tools_server.values.german_names import main_clause
from tools_server.values.language import current, plural, series
from tools_server.values.language import text as _
from tools_server.writing.bullets import Bullet, BulletPaper, text_of
from tools_server.writing.papers import put_back, written
from tools_server.writing.private_papers import HOUSEHOLD, own_file
from wall.roles import may

FACT_CHARACTERS = 300  # one thing worth knowing; a longer text is a note
MOST_FACTS = 200  # of one paper: a model is shown them all, in every turn
AT_ONCE = 8  # no more are forgotten by one yes: nobody remembers more of a question
TOLD = 10
ALIKE = 0.8  # above it, two facts may be about the same: "the code is 1234", "the code is 4321"

_ABOUT_ME = ("me", "myself", "i")
_ABOUT_US = ("us", "everybody", "everyone", "the family", "our family", "my family", "the house", "the household")
_SMALL = ("the", "a", "an", "my", "our", "of", "s")


@dataclass(frozen=True, slots=True)
class Fact:
    """One line, as it is told."""

    text: str
    personal: bool  # the asker's own, and nobody else's


Text = Annotated[str, Field(min_length=1, max_length=FACT_CHARACTERS)]


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@folder_tool(
    "facts.remember",
    data={"fact": str, "household?": bool, "alike?": [str], "already?": bool},
    risk="change",
    idempotent=True,
)
async def remember(
    call: Call,
    text: Annotated[Text, Field(description="The fact, such as: Anna is allergic to nuts")],
    household: Annotated[bool, Field(description="true when it is for everybody in the house to know")] = False,
) -> Result:
    """Remember a fact for good, such as an allergy, a birthday or where something lies."""
    fact = _cleaned(text)
    if not fact:
        raise ToolFailed("invalid", _("What shall I remember?"))
    sheets = _sheets(call)
    known = _known(sheets)
    same = next((one_fact for one_fact in known if plain(one_fact.text) == plain(fact)), None)
    if same and (same.personal or not household):
        return Result(_("I know that already: {text}.").format(text=same.text), {"fact": same.text, "already": True})
    sheet = sheets[0] if household else sheets[-1]
    _may_change(call, sheet)
    if len(_lines(sheet)) >= MOST_FACTS:
        raise ToolFailed(
            "failed",
            _("I remember {most_facts} things already. Tell me some to forget first.").format(most_facts=MOST_FACTS),
        )
    heading = call.actor.person if sheet.file != HOUSEHOLD else "Household"
    after = sheet.with_line(fact, one_line(heading))
    near = get_close_matches(plain(fact), [plain(one_fact.text) for one_fact in known], n=3, cutoff=ALIKE)
    alike = [one_fact.text for one_fact in known if plain(one_fact.text) in near]
    also = _(" I also know: {series}.").format(series=series([spoken(item) for item in alike], "and")) if alike else ""
    data = {"fact": fact, "household": sheet.file == HOUSEHOLD, "alike": alike}
    changed = _("I'll remember: {fact}.").format(fact=fact)
    return Result(changed + also, data, _write(call, sheet, after, changed))


@folder_tool("facts.list", data={"facts": [{"text": str, "own": bool}]}, risk="read")
async def list_facts(
    call: Call,
    about: Annotated[str, Field(max_length=200, description="Whom or what; leave out for everything")] = "",
) -> Result:
    """Tell what people asked to be remembered."""
    facts = _about(call, _known(_sheets(call)), about)
    whom = _("you") if plain(about) in _ABOUT_ME else spoken(one_line(about))
    if not facts:
        text = (
            _("Nobody told me anything about {whom}.").format(whom=whom)
            if plain(about)
            else _("Nobody asked me to remember anything.")
        )
    elif len(facts) == 1:
        text = _("I was told: {text}.").format(text=facts[0].text)
    else:
        more = [_("{count} more").format(count=len(facts) - TOLD)] if len(facts) > TOLD else []
        message = series([*(fact.text for fact in facts[:TOLD]), *more], "and")
        text = plural(
            "I was told {count} thing: {facts}.", "I was told {count} things: {facts}.", len(facts), facts=message
        )
    return Result(text, {"facts": [{"text": fact.text, "own": fact.personal} for fact in facts]})


async def _forget_question(call: Call, text: str) -> str:
    _first, meant = _meant(call, text)
    if len(meant) == 1:
        return _("Forget that {text}?").format(text=meant[0].text)
    return _("Forget these {count} things: {series}?").format(
        count=len(meant), series=series([fact.text for fact in meant], "and")
    )


@folder_tool("facts.forget", data={"forgotten": [str]}, risk="destructive", preview=_forget_question)
async def forget(call: Call, text: Annotated[Text, Field(description="The fact, or what it is about")]) -> Result:
    """Forget a fact that was remembered, or all about one thing."""
    sheet, meant = _meant(call, text)
    texts = [fact.text for fact in meant]
    changed = _("I've forgotten: {series}.").format(series=series(texts, "and"))
    return Result(changed, {"forgotten": texts}, _write(call, sheet, sheet.without(meant), changed))


undo = put_back  # of its file, unless somebody has edited it since


# ── which papers ───────────────────────────────────────────────────────────────────────────────────


def _sheets(call: Call) -> list[BulletPaper]:
    """Return what the asker may hear: the household's, then their own when it is known who they are."""
    return [BulletPaper(file, *text_of(call.home, file)) for file in (HOUSEHOLD, own_file(call.actor)) if file]


def _lines(sheet: BulletPaper) -> list[Bullet]:
    return [replace(line, text=line.text[:FACT_CHARACTERS]) for line in sheet.bullets[:MOST_FACTS]]


def _known(sheets: Sequence[BulletPaper]) -> list[Fact]:
    return [Fact(line.text, sheet.file != HOUSEHOLD) for sheet in sheets for line in _lines(sheet)]


def _may_change(call: Call, sheet: BulletPaper) -> None:
    if not may(call.actor.role, "household") and sheet.file == HOUSEHOLD:
        raise ToolFailed("denied", _("That is for everybody, so a grown-up has to tell me."))


def _write(call: Call, sheet: BulletPaper, after: BulletPaper, changed: str) -> ChangeReceipt:
    if sheet.file != HOUSEHOLD:
        changed = _("Changed what I remember for one person.")  # owners hear what was changed for others
    return written(call, sheet.file, sheet.stamp, (sheet.text, after.text), changed)


# ── which facts ────────────────────────────────────────────────────────────────────────────────────


def _cleaned(text: str) -> str:
    words = re.sub(r"^that\s+", "", one_line(text), flags=re.IGNORECASE)
    words = words.rstrip(".! ")
    return capital(main_clause(words) if current() == "de" else words)


def _about(call: Call, known: Sequence[Fact], about: str) -> list[Fact]:
    """Return the facts about something: those that hold all its words."""
    whom = plain(about)
    if whom in _ABOUT_ME:
        named = _words(call.actor.person)
        return [fact for fact in known if fact.personal or (named and named <= _words(fact.text))]
    if whom in _ABOUT_US:
        return [fact for fact in known if not fact.personal]
    return [fact for fact in known if _words(whom) <= _words(fact.text)]


def _words(text: str) -> set[str]:
    return {word for word in plain(text).split() if word not in _SMALL}


def _meant(call: Call, text: str) -> tuple[BulletPaper, list[Bullet]]:
    """Return the facts to forget, of one paper: the asker's own first. Raises `ToolFailed`."""
    wanted = _cleaned(text)
    sheets = _sheets(call)[::-1]
    for fits in (_same, _holding):
        for sheet in sheets:
            if meant := fits(_lines(sheet), wanted):
                _may_change(call, sheet)
                if len(meant) > AT_ONCE:
                    raise ToolFailed(
                        "invalid", _("That is {count} things. Say more closely which.").format(count=len(meant))
                    )
                call.permit(text=[fact.text for fact in meant])
                return sheet, meant
    known = {plain(fact.text): fact.text for fact in _known(sheets)}
    nearest = [known[near] for near in get_close_matches(plain(wanted), known, n=1, cutoff=0.5)]
    hint = _(" The nearest is: {nearest}.").format(nearest=nearest[0]) if nearest else ""
    raise ToolFailed("not_found", _("I don't remember anything like that.{hint}").format(hint=hint), nearest=nearest)


def _same(facts: Sequence[Bullet], wanted: str) -> list[Bullet]:
    return [fact for fact in facts if plain(fact.text) == plain(wanted)]


def _holding(facts: Sequence[Bullet], wanted: str) -> list[Bullet]:
    words = _words(wanted)
    return [fact for fact in facts if words and words <= _words(fact.text)]
