"""Which devices of this house are meant by the nouns of a clause: by name, by kind and room, by a nickname. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.understanding.frame_deeds import FrameTarget
from atlas.understanding.frame_words import LEAST_LETTERS, Token, spelled
from atlas.understanding.names import GUARDED, NamedDevice, Names

QUANTITIES = ("any", "all", "which", "how_many")  # of things, that a question asks for
OF_A_ROOM = ("light", "climate", "cover", "fan")  # kinds of which people mean the one that is where they are


class Targets:
    """Finds what is meant with the nicknames of one language: "the big light" is the one on the ceiling."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._nicknames: Mapping[str, Sequence[str]] = words.get("nicknames", {})
        self._after: str = "" if words.get("compounds") else " "  # behind the place that begins a name
        kinds = [row for row in words.get("kind", ()) if row["is"] in OF_A_ROOM]
        self._common_nouns = {noun for row in kinds for noun in row["one"].split("|")}
        self._whole_kinds: Sequence[str] = words.get("whole_kinds", ())
        self._whole_when_off: Sequence[str] = words.get("whole_when_off", ())

    def of(self, tokens: Sequence[Token], names: Names, here: str) -> tuple[list[FrameTarget], str]:
        """Return what is named, and a room that nothing was named in."""
        tokens = self.nearby(tokens, names, here)
        places = [token for token in tokens if token.category in ("room", "floor")]
        kinds = [token for token in tokens if token.category == "kind"]
        targets = [self._of_device(token, names, tokens, here) for token in tokens if token.category == "device"]
        taken = {str(target.arguments.get("device", "")).casefold() for target in targets}
        for kind, beside in _pairs(tokens) or [(kind, places) for kind in kinds]:
            if targets and not places and len(kinds) == 1 and _is_named_by(kind, targets):
                continue  # "the lamp, the reading lamp"
            wheres = [{place.category: place.value} for place in beside if place.value.casefold() not in taken]
            targets += [self._of_kind(kind, where, tokens, names, here) for where in wheres or [{}]]
        if not targets:
            targets = self._called_in_short(tokens, places, names)
        rooms = [place.value for place in places if place.category == "room"]
        sent = bool(targets) and all(target.kind == "vacuum" for target in targets)  # "Robbie, do the kitchen"
        homes = {one.room for one in names.devices if one.kind == "vacuum"} if sent else set()
        alone = next((room for room in rooms if room not in homes), "") if sent or not targets else ""
        return targets, alone

    def nearby(self, tokens: Sequence[Token], names: Names, here: str) -> list[Token]:
        """Return nouns where one that is only called by its kind, in another room, is what the speaker has nearby.

        So "the blind" is Ruby's in her room, also where the living room's has "Blind" for a name.
        """
        anywhere = not here or any(one.category in ("room", "floor") for one in tokens)
        return [one if anywhere or one.category != "device" else self._nearby(one, names, here) for one in tokens]

    def _nearby(self, token: Token, names: Names, here: str) -> Token:
        kind, shape = token.value.kind, token.value.shape
        near = [one for one in names.devices if one.room == here and (one.kind, one.shape) == (kind, shape)]
        if token.value in near or not near or token.text.casefold() not in self._common_nouns:
            return token
        if len(near) == 1:
            return Token("device", near[0], near[0].name)
        return Token("kind", (kind, shape, False), token.text)

    def _called_in_short(self, tokens: Sequence[Token], places: Sequence[Token], names: Names) -> list[FrameTarget]:
        """Return the door that only its place was said of: "unlock the back", "close the garage"."""
        doings = {token.value for token in tokens if token.category in ("action", "state")}
        if not doings & {"open", "close", "closed", "lock", "locked", "unlock", "unlocked"}:
            return []
        if any(token.category == "refers" for token in tokens):
            return []  # "lock it back up"
        words = {token.text.casefold() for token in tokens} | {place.value.casefold() for place in places}
        for token in tokens:
            words |= {*self._nicknames.get(token.value, ())} if token.category == "nickname" else set()
        words = {word for word in words if len(word) >= LEAST_LETTERS}
        doors = [one for one in names.devices if one.kind == "lock" or one.shape in GUARDED]
        called = [one for one in doors if any(part.startswith(word) for part in _parts(one) for word in words)]
        return [FrameTarget(called[0].kind, {"device": called[0].name}, called[0].shape)] if len(called) == 1 else []

    def _of_device(self, token: Token, names: Names, tokens: Sequence[Token], here: str) -> FrameTarget:
        device: NamedDevice = token.value
        places = [one for one in tokens if one.category in ("room", "floor")]
        namesakes = [one for one in names.devices if one.name.casefold() == device.name.casefold()]
        device = next((one for one in namesakes if one.room in {place.value for place in places} | {here}), device)
        for place in places:  # who says "the heating in the bedroom" does not mean another one that is called so
            rooms = _rooms_of({place.category: place.value}, names)
            if device.room not in rooms and any(one.kind == device.kind and one.room in rooms for one in names.devices):
                kind = Token("kind", (device.kind, device.shape, False), token.text)
                return self._of_kind(kind, {place.category: place.value}, tokens, names, here)
        if self._are_several(token, device, names):  # "the bedroom lights", of which one is called bedroom light
            return FrameTarget(device.kind, {"kind": device.kind, "room": device.room}, device.shape)
        where = {"room": device.room} if len(namesakes) > 1 and device.room else {}
        return FrameTarget(device.kind, {"device": device.name, **where}, device.shape)

    @staticmethod
    def _are_several(token: Token, device: NamedDevice, names: Names) -> bool:
        """Whether the plural of a name is said that begins with its room, where others of its kind are."""
        plural = len(token.text) > len(device.name) and not device.name.endswith("s")
        of_room = bool(device.room) and device.name.casefold().startswith(f"{device.room} ".casefold())
        return (
            plural and of_room and sum(one.kind == device.kind and one.room == device.room for one in names.devices) > 1
        )

    def _of_kind(
        self, token: Token, where: Mapping[str, str], tokens: Sequence[Token], names: Names, here: str
    ) -> FrameTarget:
        """Return the devices of a kind in a room, on a floor, or where the speaker is."""
        kind, shape, many = token.value
        if shape == "door" and not any(one.shape == shape for one in names.devices):
            kind, shape = "lock", ""  # the doors of a house that only has locks on them
        if shape and not any((one.kind, one.shape) == (kind, shape) for one in names.devices):
            alike = [one for one in names.devices if one.kind == kind]
            called = [one for one in alike if any(_ends_in(part, token.text) for part in _parts(one)[-1:])]
            if len(called) == 1:  # "the shutters", of blinds that are called so
                return FrameTarget(kind, {"device": called[0].name}, called[0].shape)
        turned_off = any(one.category == "action" and one.value == "off" for one in tokens)
        many = many or any(one.category == "quantity" or one.value in QUANTITIES for one in tokens)
        many = many or (turned_off and token.text in self._whole_when_off)
        everything = not where and any(one.category == "quantity" and one.value == "everywhere" for one in tokens)
        rooms = _rooms_of(where, names)
        all_of_it = [
            one
            for one in names.devices
            if one.kind == kind
            and (not shape or one.shape in ("", shape) or any(_ends_in(part, token.text) for part in _parts(one)[-1:]))
        ]  # also one of another shape that is called so: a "Stubenrollladen" that the hub has as a shutter
        inside = [one for one in all_of_it if one.room in rooms] if rooms else all_of_it
        nearby = [one for one in all_of_it if here and one.room == here]
        nick = next((one.value for one in tokens if one.category == "nickname"), "")
        if nick and not any(one.category == "quantity" for one in tokens):  # "both lights", of whose reason it is
            near = inside if rooms else (nearby or inside)
            fits = [one for one in near if _has_word(one, self._nicknames.get(nick, ()))]
            if not fits and nick == "big":  # of two, the one that is not the little one
                little = [one for one in near if _has_word(one, self._nicknames.get("little", ()))]
                fits = [one for one in near if one not in little] if little else [*filter(_is_of_its_room, near)]
            if len(fits) == 1:
                return FrameTarget(kind, {"device": fits[0].name}, fits[0].shape)
        if rooms and not inside:  # "the door of the patio" is the patio door, wherever it is
            begins = tuple(f"{room.casefold()}{self._after}" for room in rooms)
            called = [one for one in all_of_it if any(name.casefold().startswith(begins) for name in one.all_names)]
            only = next((group[0] for group in (called, all_of_it) if len(group) == 1), None)
            if only:
                return FrameTarget(kind, {"device": only.name}, only.shape)
        if not many:
            near = inside if rooms else (nearby or inside)
            called = [one for one in near if any(_ends_in(part, token.text) for part in _parts(one))] or near
            if (rooms or nearby) and token.text.casefold() in self._whole_kinds:
                called = near  # "Licht aus" is the room's, also where only one lamp in it is called a light
            if rooms and len(called) > 1:  # "the light in the kitchen" is the kitchen light
                of_room = {f"{room} {token.text}".casefold() for room in rooms}
                called = [one for one in called if one.name.casefold() in of_room] or called
            if len(called) == 1:
                return FrameTarget(kind, {"device": called[0].name}, called[0].shape)
        extra = {"shape": shape} if shape else {}
        every_one = (here and not nearby) or _says_every(tokens)
        everything = everything or bool(every_one and not where and _means_every_one(tokens))
        if everything or (many and kind == "lock" and not where):
            return FrameTarget(kind, {"kind": kind, **extra, "everything": True}, shape)
        return FrameTarget(kind, {"kind": kind, **extra, **where}, shape)


def _pairs(tokens: Sequence[Token]) -> list[tuple[Token, list[Token]]]:
    """Return kinds with the place beside each, where all of several have one: "the lamp here, the fan there"."""
    nouns = [token for token in tokens if token.category in ("kind", "room", "floor")]
    pairs = [sorted(nouns[at : at + 2], key=lambda one: one.category != "kind") for at in range(0, len(nouns), 2)]
    each_has_one = all([one.category == "kind" for one in pair] == [True, False] for pair in pairs)
    return [(kind, [place]) for kind, place in pairs] if len(pairs) > 1 and each_has_one else []


def _means_every_one(tokens: Sequence[Token]) -> bool:
    return any(one.category == "quantity" and one.value in ("all", "every") for one in tokens)


def _says_every(tokens: Sequence[Token]) -> bool:
    """Whether words mean all that there are, not two that were pointed at: "alle", but not "beide"."""
    return any(one.category == "quantity" and one.value == "every" for one in tokens)


def _is_named_by(kind: Token, targets: Sequence[FrameTarget]) -> bool:
    return any(target.kind == kind.value[0] for target in targets)


def _rooms_of(where: Mapping[str, str], names: Names) -> frozenset[str]:
    if "room" in where:
        return frozenset({where["room"]})
    if "floor" in where:
        return frozenset(place.name for place in names.rooms if place.floor == where["floor"])
    return frozenset()


def _ends_in(part: str, word: str) -> bool:
    """Whether a word is one part of a name, or what a compound ends in: "Lampe" of Nachttischlampe."""
    return part == word or (len(word) >= LEAST_LETTERS and part.endswith(word))


def _parts(device: NamedDevice) -> list[str]:
    return device.name.casefold().split()


def _is_of_its_room(device: NamedDevice) -> bool:
    """Whether a device is called after the room that it is in: "Twins' Light" of Twins' Room."""
    room, name = spelled(device.room), spelled(device.name)
    return bool(room and name) and (name[0] in room or name[0].startswith("".join(room)))


def _has_word(device: NamedDevice, wanted: Sequence[str]) -> bool:
    parts = _parts(device)
    compound = len(parts) == 1  # "Hintertür"
    parts = [part for part in parts if part not in device.room.casefold().split()]  # the big bedroom's is no big one
    return any(part == word or (compound and part.startswith(word)) for part in parts for word in wanted)
