"""Where the people of the house are, as far as their phones tell it: home, away, or a place that has a name."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from tools_server.hubs.deeds import DEVICE, home_of, shown
from tools_server.hubs.device_rules import permitted
from tools_server.hubs.devices import Device, names, nearest, plain, spoken_name
from tools_server.hubs.home_words import place_clause, the
from tools_server.hubs.questions import DeviceQuestion, answer, only_whereabouts, whereabouts
from tools_server.sdk.toolkit import Call, Result, ToolFailed, tool
from tools_server.sdk.wording import capital
from tools_server.values.language import text as _

MOST_NAMED = 8
EVERYBODY = ("everyone", "everybody", "alle", "jeder")


@tool("presence.where", data={"devices": [DEVICE]}, risk="read", limit_seconds=10)
async def where(
    call: Call,
    person: Annotated[str, Field(max_length=60, description="Whose place is asked for; empty for everybody")] = "",
    place: Annotated[str, Field(max_length=60, description="Who is there? home, away, or a name such as school")] = "",
) -> Result:
    """Tell the whereabouts of a person of the household."""
    everybody = _people(call)
    known = [one for one in everybody if one.state.get("place")]
    if not known:
        sentence = _("I can't look that up: nothing tells me where anybody is.")
        raise ToolFailed("not_found", sentence, code="not_found")
    if place.strip():
        place = whereabouts(known, place) or ""
        if not place:
            raise ToolFailed("not_found", only_whereabouts(known), code="not_found")
    every = plain(person) in EVERYBODY
    if person.strip() and not every:
        one = _one(everybody, person)
        if not one.state.get("place"):
            raise ToolFailed("not_found", _("I don't know where {person} is.").format(person=the(one)))
        text = answer([one], DeviceQuestion(value=place)) if place else f"{capital(place_clause(the(one), one))}."
        return Result(text, {"devices": [shown(one)]})
    if place:
        text = answer(known, DeviceQuestion("all" if every else "any", place, kind="person"))
    else:
        text = " ".join(f"{capital(place_clause(the(one), one))}." for one in known[:MOST_NAMED])
    return Result(text, {"devices": [shown(one) for one in known]})


def _people(call: Call) -> list[Device]:
    """Return the people whom the rules let this asker ask about."""
    people = [device for device in home_of(call).devices() if device.kind == "person"]
    calls = [replace(call, arguments={**call.arguments, "person": one.name}) for one in people]
    return [one for one, about in zip(people, calls, strict=True) if permitted(about, one)]


def _one(people: list[Device], person: str) -> Device:
    called = [one for one in people if plain(person) in names(one) | {plain(one.name).partition(" ")[0]}]
    if len(called) == 1:
        return called[0]
    sentence = _("I don't know where {person} is.").format(person=spoken_name(person))
    raise ToolFailed("not_found", sentence + nearest(plain(person), [one.name for one in people]), code="not_found")
