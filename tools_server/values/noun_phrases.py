"""What a thing or a room is called in a sentence: with its article, in its case, alone or several. Pure.

A place of a message that stands for such a name may say how it stands there, which a language needs or not:

    {device}              the thing, as what a sentence is about: "the hall lamp", „die Flurlampe“
    {device:is|are}       the first word for one, the second for several: "the curtains are"
    {device:accusative}   „den Fernseher“
    {device:dative}       „dem Fernseher“
    {device:of}           „vom Fernseher“
    {room:in}             where something is: „im Flur“, „auf der Terrasse“
    {room:the}            with its article in English, which what is called after somebody has not: "Ruby's room"
    {room:nominative}     with its article: „der Flur“
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from tools_server.values import german_names
from tools_server.values.language import current, series
from tools_server.values.language import text as _

_GERMAN = "de"
_ONE_YET_S = ("ss", "us", "is", "os", "as", "'s", "’s")  # endings of English names that are no plurals


class SpokenName(str):
    """A name in its forms: the text itself is what a sentence is about."""

    __slots__ = ("_forms", "several")
    _forms: Mapping[str, str]
    several: bool

    def __new__(cls, text: str, forms: Mapping[str, str] | None = None, *, several: bool = False) -> Self:
        """Take the forms of a name by what places call them; a form that is missing is the name itself."""
        made = super().__new__(cls, text)
        made._forms = forms or {}
        made.several = several
        return made

    def __format__(self, form: str) -> str:
        one, parts, more = form.partition("|")
        if parts:
            return more if self.several else one
        return self._forms.get(form, str(self))


def thing(name: str, room: str = "", *, is_own: bool = False) -> SpokenName:
    """Return "the lamp in the hall". `is_own`: a name that needs no article, such as a person's."""
    if current() == _GERMAN:
        inside = f" {german_names.inside(room)}" if room and not is_own else ""
        forms = {case: german_names.definite(name, case) + inside for case in ("accusative", "dative")}
        forms["of"] = german_names.of(name) + inside
        several = not is_own and german_names.is_plural(name)
        text = name if is_own else german_names.definite(name) + inside
        return SpokenName(text, {"of": f"von {name}"} if is_own else forms, several=several)
    if is_own:
        return SpokenName(name)
    several = name.endswith("s") and not name.casefold().endswith(_ONE_YET_S)
    if room:
        form = _("{name} in {room:the}") if is_owned(name) else _("the {name} in {room:the}")
        return SpokenName(form.format(name=name, room=place(room)), several=several)
    return SpokenName(name if is_owned(name) else _("the {name}").format(name=name), several=several)


def is_owned(name: str) -> bool:
    """Tell whether something is called after whose it is, and needs no article: "Ruby's lamp"."""
    return name.partition(" ")[0].endswith(("'s", "’s"))


def place(room: str) -> SpokenName:
    """Return a room as it is called; in a language that needs it, with what stands before it."""
    if not room:
        return SpokenName(room)
    if current() != _GERMAN:
        return SpokenName(room, {"the": room if is_owned(room) else _("the {name}").format(name=room)})
    cases = {case: german_names.definite(room, case) for case in ("nominative", "accusative", "dative")}
    return SpokenName(room, {**cases, "in": german_names.inside(room)})


def several(text: str) -> SpokenName:
    """Return what more than one are called together."""
    return SpokenName(text, several=True)


def listed(names: Sequence[SpokenName], joined: str = "and") -> SpokenName:
    """Return "a, b and c", of which each form lists the forms."""
    cases = {case: series([format(name, case) for name in names], joined) for case in ("accusative", "dative", "in")}
    return SpokenName(series(names, joined), cases, several=len(names) > 1 or names[0].several)
