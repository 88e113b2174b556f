"""Lays out the forms of settings: which sections of atlas.toml they fill in, what fits each field, when it counts."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeGuard
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from atlas.agents.agent_emergency import countries
from atlas.allowed_addresses import AllowedAddress
from atlas.config import BOUNDS, Config, SpeechConfig, usual_ears
from atlas.confirmations import HouseAnswers, open_answers
from atlas.errors import RequestError
from atlas.models.ears import ENGLISH_ONLY
from atlas.speech.wake import phrase_of
from atlas.speech.wake_micro import has_model
from atlas.store.backup import FEWEST_PASSPHRASE_CHARACTERS
from atlas.store.devices import ROOM
from atlas.store.settings_file import Section

FormName = Literal[
    "house", "wake", "room", "gpu", "weather", "home_assistant", "mqtt", "mail", "calendar", "push", "egress", "backup"
]
FieldKind = Literal["text", "number", "secret", "choice", "list", "switch"]
Value = str | float | bool | list[str] | None
Hosts = Callable[[Mapping[str, Any]], Sequence[str]]
MOST_TEXT, MOST_LINES = 500, 100
MOST_OF_A_KIND = 20  # accounts, or calendars: more have never been seen in a house
HTTPS, HTTP = 443, 80
LANGUAGES = ("en", "de", "en,de", "de,en")  # one, or several with the usual one first
_HOURS = re.compile(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d")
_PATTERNS = {
    "not_name": re.compile(r"[a-z0-9][a-z0-9-]{0,40}"),
    "not_mail": re.compile(r"[!-~]+@[!-~]+"),
    "not_room": re.compile(rf"(?:{ROOM.pattern})?"),
    "not_folder": re.compile(r"(?!.*(?://|/\.{1,2}(?:/|$)))/.+"),
    "not_passphrase": re.compile(rf".{{{FEWEST_PASSPHRASE_CHARACTERS},}}"),
}
FEWEST_OF_ONE_WORD = 5  # letters: a shorter word is inside others
_WHOLE = {  # whole numbers, and the code of the refusal
    "hour": "not_whole_hour",
    "retain": "not_count",
    "gpu_layers": "not_layers",
    "gpu": "not_card",
}
_PLACES = {"latitude": (-90, 90), "longitude": (-180, 180)}  # degrees: as the tools have it
_PHRASE = re.compile(r"[^\W_][\w' -]{2,39}")
HOUSE_WORDS = "house"  # the field of the wake words that are no agent's


def _range(name: str) -> str:
    return "from {} to {}".format(*_bounds(name))


def _bounds(name: str) -> tuple[float, float]:
    return _PLACES.get(name) or BOUNDS[name]


def _is_within(name: str, value: float) -> bool:
    least, most = _bounds(name)
    return least <= value <= most


SENTENCES = {  # what does not fit a field, by the code that a page may say in words of its own
    "unknown_field": "that form has no such field",
    "by_environment": "it is set by a variable of the environment, which wins over the file",
    "not_text": f"that has to be one line of at most {MOST_TEXT} characters",
    "not_number": "that has to be a number",
    "not_list": f"that has to be a list of at most {MOST_LINES} lines of at most {MOST_TEXT} printable characters",
    "not_choice": "that is none of the choices",
    "not_switch": "that has to be on or off",
    "not_port": f"a port is a whole number {_range('port')}",
    "not_address": "an address begins with http:// or https:// and names a machine",
    "not_name": "a name is written in small letters, digits and hyphens, such as home",
    "not_mail": "a mail address has an @ in it, and no spaces",
    "not_room": "a room has 1 to 40 letters, digits, spaces, dots, dashes or apostrophes, as in living room",
    "name_twice": "there is one of that name already",
    "missing": "that is needed",
    "no_ears": "nothing on this machine hears that language",
    "common_phrase": "people say that all day, and the house would wake; take a name or two words, such as hey atlas",
    "no_folder": "there is no such folder: make it, or connect its disk, then save again",
    "no_writing": "the house may not write into that folder: give it to the user that runs the house, then save again",
    "house_inside": "the house itself lies in that folder, or it in the house: name one apart, on another disk",
    "not_folder": "a folder is written from the root of the disk, such as /media/disk/atlas",
    "not_passphrase": (
        f"a passphrase has at least {FEWEST_PASSPHRASE_CHARACTERS} characters: a few words, written down elsewhere too"
    ),
    "not_whole_hour": f"an hour is a whole number {_range('hour')}",
    "not_count": f"that is a whole number {_range('retain')}",
    "not_layers": f"layers are a whole number {_range('gpu_layers')}; -1 is all of them",
    "not_card": f"a card is a whole number {_range('gpu')}, as nvidia-smi counts; -1 is all of them",
    "not_hours": "quiet hours are written 22:00-07:00",
    "not_zone": "a time zone is written as in Europe/Berlin",
    "not_reachable": "each line is a machine and a port, such as api.open-meteo.com:443 or *.example.org:443",
    "not_latitude": f"a latitude is a number {_range('latitude')}",
    "not_longitude": f"a longitude is a number {_range('longitude')}",
    "not_volume": f"that has to be a number {_range('volume')}",
    "not_phrase": "a wake word has 3 to 40 letters, and may be several words",
    "no_model": "there is no small model for that wake word, and [speech] wake does not take other phrases",
    "phrase_twice": "that wake word is given twice: who is meant by it could not be told",
    "no_phrase": "without any wake word nobody could wake the house",
    "too_many": f"there are {MOST_OF_A_KIND} already",
    "not_there": "there is no such entry",
    "moved": "entries were added or removed meanwhile: look at them again",
}


def misfit(code: str, field: str = "", hint: str = "") -> RequestError:
    """Return the refusal of what is in a field."""
    return RequestError(SENTENCES[code], code=code, param=field, hint=hint)


@dataclass(frozen=True, slots=True)
class FormField:
    """One field: its name in the form, what is filled in, and what it is while nothing is."""

    name: str
    kind: FieldKind = "text"
    choices: tuple[str, ...] = ()
    usual: Value = ""
    place: tuple[str, ...] = ()  # the tables inside the section in which it stands
    url: bool = False
    reachable: bool = False  # each line is a machine and its port
    section: Section = ()  # where it stands when that is not the form's section
    setting: str = ""  # its name there when that is another
    pattern: str = ""  # what it must look like, by the code of the refusal
    needed: bool = False  # the tools do not start without it

    @property
    def key(self) -> str:
        """Its name in its table: `imap_host` stands in [imap] as `host`."""
        return self.setting or (self.name.removeprefix(f"{self.place[-1]}_") if self.place else self.name)


@dataclass(frozen=True, slots=True)
class FormLayout:
    """A section, its fields, whom it needs to reach, and the tool that tries it."""

    section: Section
    fields: tuple[FormField, ...]
    hosts: Hosts | None = None  # without one it needs nobody
    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    several: bool = False  # it is one entry of several: its place among them goes behind the section
    named_by: str = ""  # the argument by which the tool tries one of them; without one it tries all


def layouts(config: Config) -> Mapping[FormName, FormLayout]:
    """Return the forms of a house, as they are shown."""
    words = (
        FormField(HOUSE_WORDS, "list", section=("speech",), setting="wake_words"),
        FormField("near_misses", "switch", usual=False, section=("speech",)),
    )
    agents = tuple(FormField(name, "list", section=("agents", name), setting="wake_words") for name in config.agents)
    house = (
        FormField("timezone"),
        FormField("country", "choice", ("", *countries())),
        FormField("contact"),
        FormField("language", "choice", _languages(config), "en"),
        FormField("agent", "choice", tuple(config.agents), "family"),
    )
    gpu = tuple(
        FormField(f"{name}_{key}", "number", usual=usual, section=("llm", name), setting=key)
        for name, llm in config.llm.items()
        if llm.kind == "embedded"
        for key, usual in (("gpu_layers", 0), ("gpu", -1))
    )
    return {
        "house": FormLayout(("house",), house),
        "gpu": FormLayout(("models",), gpu),
        "wake": FormLayout(("speech",), (*words, *agents)),
        "room": FormLayout(("satellite",), _ROOM),
        **_OF_THE_WORLD,
    }


def _languages(config: Config) -> tuple[str, ...]:
    """Return the languages that can be chosen: those that every house may have, and what stands there."""
    return tuple(dict.fromkeys([*LANGUAGES, ",".join(config.house.spoken).lower()]))


def _of_url(name: str) -> Hosts:
    def hosts(values: Mapping[str, Any]) -> Sequence[str]:
        return _of_address(str(values.get(name) or ""))

    return hosts


def _of_address(url: str) -> Sequence[str]:
    try:
        parts = urlsplit(url)
        port = parts.port or (HTTP if parts.scheme == "http" else HTTPS)
    except ValueError:  # edited by hand; nobody reaches anything by it
        return []
    return [f"{parts.hostname}:{port}"] if parts.hostname and parts.scheme in ("http", "https") else []


def _of_host(host: object, port: object) -> Sequence[str]:
    return [f"{host}:{port:.0f}"] if host and _is_port(port) else []


def _is_port(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and _is_within("port", value) and value % 1 == 0


def _of_mail(values: Mapping[str, Any]) -> Sequence[str]:
    pairs = ((values.get(f"{one}_host"), values.get(f"{one}_port")) for one in ("imap", "smtp"))
    return [line for host, port in pairs for line in _of_host(host, port)]


_ROOM = (
    FormField("enabled", "switch", usual=False),
    FormField("room", pattern="not_room"),
    FormField("quiet_hours"),
    FormField("volume", "number", usual=1.0),
)
_OF_THE_WORLD: Mapping[FormName, FormLayout] = {
    "weather": FormLayout(
        ("tools", "weather"),
        (
            FormField("place"),
            FormField("latitude", "number", usual=None),
            FormField("longitude", "number", usual=None),
            FormField("units", "choice", ("metric", "imperial"), "metric"),
            FormField("address", usual="https://api.open-meteo.com", url=True),
        ),
        _of_url("address"),
        "weather.now",
    ),
    "home_assistant": FormLayout(
        ("tools", "home", "home_assistant"),
        (FormField("url", url=True), FormField("token_file", "secret")),
        _of_url("url"),
        "home.connected",
        {"hub": "home_assistant"},
    ),
    "mqtt": FormLayout(
        ("tools", "home", "mqtt"),
        (
            FormField("host"),
            FormField("port", "number", usual=8883.0),
            FormField("tls", "choice", ("implicit", "none"), "implicit"),
            FormField("user"),
            FormField("password_file", "secret"),
        ),
        lambda values: _of_host(values.get("host"), values.get("port")),
        "home.connected",
        {"hub": "mqtt"},
    ),
    "mail": FormLayout(
        ("tools", "email", "accounts"),
        (
            FormField("name", pattern="not_name", needed=True),
            FormField("address", pattern="not_mail", needed=True),
            FormField("user", needed=True),
            FormField("password_file", "secret", needed=True),
            FormField("imap_host", place=("imap",)),
            FormField("imap_port", "number", usual=993.0, place=("imap",)),
            FormField("smtp_host", place=("smtp",)),
            FormField("smtp_port", "number", usual=465.0, place=("smtp",)),
            FormField("agents", "list", usual=["work"], needed=True),
        ),
        _of_mail,
        "email.list",
        several=True,
        named_by="account",
    ),
    "calendar": FormLayout(
        ("tools", "calendar", "servers"),
        (
            FormField("name", needed=True),
            FormField("url", url=True, needed=True),
            FormField("user", needed=True),
            FormField("password_file", "secret", needed=True),
            FormField("agents", "list", usual=["family"], needed=True),
        ),
        _of_url("url"),
        "calendar.list",
        several=True,
    ),
    "push": FormLayout(
        ("push",),
        (FormField("services", "list", usual=[], reachable=True),),
        lambda values: as_list(values.get("services")),
    ),
    "egress": FormLayout(("egress",), (FormField("allow", "list", usual=[], reachable=True),)),
    "backup": FormLayout(
        ("backup",),
        (
            FormField("folder", pattern="not_folder"),
            FormField("hour", "number", usual=3.0),
            FormField("retain", "number", usual=7.0),
            FormField("passphrase_file", "secret", pattern="not_passphrase"),
        ),
    ),
}


def standing(config: Config, section: Section) -> Mapping[str, Any]:
    """Return what stands in a section; an empty table when it is not there."""
    if section[0] != "tools":
        return _plain(config, section)
    here: Any = config.tool_settings
    for part in section[1:]:
        if isinstance(here, list):
            here = here[int(part)] if part.isdigit() and int(part) < len(here) else {}
        else:
            here = here.get(part, {}) if isinstance(here, Mapping) else {}
    return here if isinstance(here, Mapping) else {}


def _plain(config: Config, section: Section) -> Mapping[str, Any]:
    piece = getattr(config, section[0])
    for part in section[1:]:
        if part not in piece:  # such as a model that was chosen since the house began
            return {}
        piece = piece[part]
    values = {one.name: getattr(piece, one.name) for one in fields(piece)}
    if section == ("house",):
        values["language"] = ",".join(config.house.spoken)
    if section == ("speech",):  # those of the agents were added as the file was read
        agents = {word for agent in config.agents.values() for word in agent.wake_words}
        values["wake_words"] = [word for word in values["wake_words"] if word not in agents]
    return values


def entries(config: Config, layout: FormLayout) -> int:
    """Return how many entries of a kind stand in the settings."""
    *above, last = layout.section
    here = standing(config, tuple(above)).get(last)
    return len(here) if isinstance(here, list) else 0


def fitting(field: FormField, value: Value) -> Value:
    """Return a value as the file has it; `None` takes it out. Raises `RequestError`."""
    if value is None or value in ("", []):
        return [] if field.kind == "list" else None
    match field.kind:
        case "number":
            if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
                raise misfit("not_number", field.name)
        case "list":
            if not isinstance(value, list) or len(value) > MOST_LINES or not all(map(_is_line, value)):
                raise misfit("not_list", field.name)
        case "choice":
            if value not in field.choices:
                raise misfit("not_choice", field.name)
        case "switch":
            if not isinstance(value, bool):
                raise misfit("not_switch", field.name)
        case _:
            if not isinstance(value, str) or not _is_line(value):
                raise misfit("not_text", field.name)
    return _as_meant(field, value)


def _is_line(text: str) -> bool:
    return len(text) <= MOST_TEXT and text.isprintable()


def _as_meant(field: FormField, value: Value) -> Value:
    """Return a value of the right kind, if it also is what the field is about. Raises `RequestError`."""
    if field.key == "port":
        if not _is_port(value):
            raise misfit("not_port", field.name)
        return int(value)
    if field.url and not _of_address(str(value)):
        raise misfit("not_address", field.name)
    if field.pattern and not _PATTERNS[field.pattern].fullmatch(str(value)):
        raise misfit(field.pattern, field.name)
    if field.name == "quiet_hours":
        text = str(value).replace(" ", "").replace("–", "-")
        if not _HOURS.fullmatch(text):
            raise misfit("not_hours", field.name)
        return text
    if field.key in _WHOLE:
        if not isinstance(value, int | float) or value % 1 or not _is_within(field.key, value):
            raise misfit(_WHOLE[field.key], field.name)
        return int(value)
    if field.name == "timezone" and not _is_zone(str(value)):
        raise misfit("not_zone", field.name)
    if field.name in ("volume", *_PLACES) and not _is_within(field.name, float(str(value))):
        raise misfit(f"not_{field.name}", field.name)
    if field.reachable and not all(map(_is_reachable, as_list(value))):
        raise misfit("not_reachable", field.name)
    return value


def _is_zone(name: str) -> bool:
    """Tell whether this machine knows a time zone of that name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _is_reachable(line: str) -> bool:
    try:
        AllowedAddress.read(line)
    except ValueError:
        return False
    return True


def check_entry(config: Config, layout: FormLayout, number: int, values: Mapping[str, Value]) -> None:
    """Raise `RequestError` for an entry that lacks what the tools need, has another's name or is for no agent here."""
    *above, last = layout.section
    others = standing(config, tuple(above)).get(last)
    those = list(others) if isinstance(others, list) else []
    here = those.pop(number) if 0 <= number < len(those) else {}
    if not set(as_list(values.get("agents"))) <= set(config.agents):
        raise misfit("not_choice", "agents")
    for field in layout.fields:
        if field.needed and not values.get(field.name, here.get(field.key, field.usual)):
            raise misfit("missing", field.name)
    if values.get("name") and any(one.get("name") == values["name"] for one in those):
        raise misfit("name_twice", "name")


def check_wake_words(config: Config, values: Mapping[str, Value]) -> None:
    """Raise `RequestError` for wake words with which the house would not start, or would not know who is meant."""
    words = {
        field.name: [str(word) for word in as_list(values.get(field.name, _standing_words(config, field)))]
        for field in layouts(config)["wake"].fields
    }
    answers = open_answers(config.house.spoken)
    phrases = Counter(phrase_of(word) for those in words.values() for word in those)
    if not phrases:
        raise misfit("no_phrase", HOUSE_WORDS)
    for name, those in words.items():
        for word in those:
            if not _PHRASE.fullmatch(word):
                raise misfit("not_phrase", name)
            if config.speech.wake == "micro" and not has_model(word, config.models.folder):
                raise misfit("no_model", name)
            if name in values and _is_common(phrase_of(word), answers):
                raise misfit("common_phrase", name)
            if phrases[phrase_of(word)] > 1 and name in values:
                raise misfit("phrase_twice", name)


def _is_common(phrase: str, answers: HouseAnswers) -> bool:
    """Tell whether people say a phrase without calling anybody: a yes, a no, an "okay", a short word on its own."""
    return (
        bool(answers.means(phrase, ""))
        or answers.is_taken_note(phrase)
        or answers.is_everyday(phrase)
        or (len(phrase) < FEWEST_OF_ONE_WORD and " " not in phrase)
    )


def check_ears(config: Config, values: Mapping[str, Value]) -> None:
    """Raise `RequestError` for languages that nothing on this machine hears: the house would not start."""
    languages = str(values.get("language") or "").split(",")
    speech = config.speech
    if not values.get("language") or speech.stt != SpeechConfig().stt or tuple(languages) == config.house.spoken:
        return
    ears = usual_ears(languages) if config.origin("speech.stt_model") == "default" else speech.stt_model
    is_deaf = ears.endswith(ENGLISH_ONLY) and languages != ["en"]
    if is_deaf or not (config.models.folder / ears).is_dir():
        needed = usual_ears(languages)
        chosen = "take stt_model out of [speech], and run " if is_deaf else ""
        raise misfit("no_ears", "language", f"{chosen}`atlas models pull {needed}`, then save again")


def check_backup(config: Config, values: Mapping[str, Value]) -> None:
    """Raise `RequestError` for a folder in which no backup could be made tonight. Looks at the disk."""
    if not values.get("folder"):
        return
    folder = Path(str(values["folder"]))
    if not folder.is_dir():
        raise misfit("no_folder", "folder")
    here, data = folder.resolve(), config.data.resolve()
    if data.is_relative_to(here) or here.is_relative_to(data):
        raise misfit("house_inside", "folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise misfit("no_writing", "folder")


def _standing_words(config: Config, field: FormField) -> Value:
    words = standing(config, field.section).get(field.key)
    return as_list(words)


def as_list(value: object) -> list[str]:
    """Return a list of texts, of whatever stands where one should."""
    return [str(one) for one in value] if isinstance(value, list | tuple) else []
