"""Forms for what a house is told of the world: weather, hubs, mail, calendar, and what may be reached; each is tried.

A form is a section of atlas.toml and the fields of it that people fill in; what else stands there is left alone. What
is saved counts at once: the tool server starts again with it, or everything is as it was. Trying a form uses the very
tool that will use the settings.
"""

from __future__ import annotations

import math
import secrets as random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from fastapi import Query
from pydantic import Field

from atlas.config import Config
from atlas.conversation import HOUSE
from atlas.gateway.api.caller import Caller, OwnerCaller, agents_of, require_part
from atlas.gateway.api.form_layouts import (
    MOST_OF_A_KIND,
    MOST_TEXT,
    FieldKind,
    FormField,
    FormLayout,
    FormName,
    Value,
    as_list,
    check_backup,
    check_ears,
    check_entry,
    check_wake_words,
    entries,
    fitting,
    layouts,
    misfit,
    standing,
)
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body, ToolReply
from atlas.gateway.failures import ToolRefusal
from atlas.store.settings_file import Changes, HouseSettings, Section, counts_at_once

router = resource("setting-forms")
NEW = -1  # the entry that is not there yet
Number = Annotated[
    int, Query(ge=NEW, le=MOST_OF_A_KIND, description="Which entry of a form that has several, from 0; -1 adds one")
]
Count = Annotated[
    int | None, Query(ge=0, le=MOST_OF_A_KIND, description="How many entries there were when it was chosen, to be sure")
]


class FormFieldItem(ApiReply):
    """One field of a form. A secret is never shown: only whether there is one."""

    name: str
    kind: FieldKind
    choices: list[str]
    value: str | float | bool | list[str] | None
    filled: bool
    origin: str = Field(description="The file, a variable of the environment, or `default`")
    at_once: bool = Field(description="Whether it counts as soon as it is saved; else at the next start")
    waits: bool = Field(description="Whether what stands there is not what the house runs with yet")


class SettingForm(ApiReply):
    """One form, and what of it has to be allowed to leave the house."""

    form: FormName
    number: int = Field(description="Which entry of its kind it is; -1 is one that is not there yet")
    several: bool = Field(description="Whether there can be more entries of its kind")
    fields: list[FormFieldItem]
    triable: bool = Field(description="Whether a tool can try it, and it alone")
    reaches: bool = Field(description="Whether its settings need to reach somebody")
    hosts: list[str] = Field(description="What these settings need to reach")
    barred: list[str] = Field(description="Those of them that [egress] does not list")


class SettingFormsReply(ApiReply):
    """All forms."""

    file: str = Field(description="The file that is written")
    forms: list[SettingForm]


class FormValues(Body):
    """What is to stand in a form. A field that is left out stays; null or an empty text takes it out."""

    values: dict[str, str | float | bool | list[str] | None]
    reach: bool = Field(False, description="List in [egress] what these settings need to reach")


class FormSaved(ApiReply):
    """What was saved counts now, but for what somebody has to start again."""

    form: SettingForm
    by_hand: list[str] = Field(description="Parts that somebody has to start again, such as by systemd")


class FormTried(ApiReply):
    """What came of trying it."""

    ok: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """One form of this house, and of several of a kind which."""

    name: FormName
    layout: FormLayout
    number: int = 0

    @property
    def section(self) -> Section:
        return (*self.layout.section, str(self.number)) if self.layout.several else self.layout.section

    def section_of(self, field: FormField) -> Section:
        return field.section or self.section


@router.get("")
async def list_forms(caller: OwnerCaller) -> SettingFormsReply:
    """Show every form with its values and where they come from."""
    settings = _settings(caller)
    forms: list[SettingForm] = []
    for name, layout in layouts(settings.config).items():
        count = max(1, entries(settings.config, layout)) if layout.several else 1
        forms += [_form(_Entry(name, layout, number), settings, caller) for number in range(count)]
    return SettingFormsReply(file=str(settings.file), forms=forms)


@router.put("/{form}")
async def save_form(
    caller: OwnerCaller, form: FormName, body: FormValues, number: Number = 0, count: Count = None
) -> FormSaved:
    """Save a form: written into the file, comments kept, and counted at once, or refused and nothing changed."""
    async with _settings(caller).deciding:
        return await _saved(caller, form, body, number, count)


async def _saved(caller: Caller, form: FormName, body: FormValues, number: int, count: int | None) -> FormSaved:
    settings, layout = _settings(caller), layouts(_settings(caller).config)[form]
    _check_number(settings, layout, number, count)
    entry = _Entry(form, layout, number)
    known = {field.name: field for field in layout.fields}
    if unknown := sorted(set(body.values) - set(known)):
        raise misfit("unknown_field", unknown[0][:MOST_TEXT])
    for name in body.values:
        if _origin(settings, entry, known[name]) not in ("default", str(settings.config.file)):
            raise misfit("by_environment", name)
    values = {name: fitting(known[name], value) for name, value in body.values.items()}
    if form == "wake":
        check_wake_words(settings.config, values)
    if form == "house":
        check_ears(settings.config, values)
    if form == "backup":
        await anyio.to_thread.run_sync(check_backup, settings.config, values)  # a sleeping disk takes its time
    if layout.several:
        check_entry(settings.config, layout, number, values)
    await _may_change(caller, [f"{'.'.join(entry.section_of(known[name]))}.{known[name].key}" for name in values])
    secrets = {
        field.name: (_secret_file(settings, entry, field), value)
        for field in layout.fields
        if field.kind == "secret" and isinstance(value := values.get(field.name), str)
    }
    values |= {name: str(file) for name, (file, _) in secrets.items()}

    def changes() -> Changes:  # by what stands there then: a model may be chosen meanwhile
        return _changes(_placed(entry, settings), values, body.reach, settings)

    by_hand = await settings.change(changes, {file.name: secret for file, secret in secrets.values()})
    caller.house.take_settings(settings.config)
    saved = replace(entry, number=entries(settings.config, layout) - 1) if number == NEW else entry
    return FormSaved(form=_form(saved, settings, caller), by_hand=list(by_hand))


@router.delete("/{form}", status_code=204)
async def remove_entry(caller: OwnerCaller, form: FormName, number: Number, count: Count = None) -> None:
    """Take one of several entries out of the file, with the secret that was typed for it."""
    settings = _settings(caller)
    async with settings.deciding:
        layout = layouts(settings.config)[form]
        entry = _Entry(form, layout, number)
        if not layout.several or not 0 <= number < entries(settings.config, layout):
            raise misfit("not_there")
        _check_number(settings, layout, number, count)
        files = [_typed_file(settings, entry, field) for field in layout.fields if field.kind == "secret"]
        await _may_change(caller, [".".join(entry.section)])
        await settings.change({entry.section: None}, {}, gone=[file.name for file in files if file])
        caller.house.take_settings(settings.config)


@router.post("/{form}/test")
async def try_form(caller: OwnerCaller, form: FormName, number: Number = 0) -> FormTried:
    """Use what is saved: ask the weather, call the hub, read the mail."""
    settings, layout = _settings(caller), layouts(_settings(caller).config)[form]
    _check_number(settings, layout, number)
    if number == NEW:
        raise misfit("not_there")
    entry = _Entry(form, layout, number)
    if not _is_triable(entry, settings):
        return FormTried(ok=True, sentence="")
    agent = _agent_for(entry, settings, caller)
    arguments = dict(layout.arguments or {})
    if layout.named_by and (name := standing(settings.config, entry.section).get("name")):
        arguments[layout.named_by] = str(name)
    try:
        if agent == HOUSE.device:
            reply = await caller.use_owner_tool(ToolReply, layout.tool, **arguments)
        else:
            reply = await replace(caller, agent=agent).use(ToolReply, layout.tool, **arguments)
    except ToolRefusal as refused:
        return FormTried(ok=False, sentence=refused.spoken)
    return FormTried(ok=True, sentence=reply.sentence)


def _settings(caller: Caller) -> HouseSettings:
    return require_part(caller.house.settings, "the settings of this house cannot be changed from here")


def _check_number(settings: HouseSettings, layout: FormLayout, number: int, seen: int | None = None) -> None:
    """Raise `RequestError` for an entry that is not there, one too many, or one whose place may be another's by now."""
    count = entries(settings.config, layout) if layout.several else 1
    if number == NEW and count >= MOST_OF_A_KIND:
        raise misfit("too_many")
    if layout.several and number != NEW and seen is not None and seen != count:
        raise misfit("moved")
    if (number == NEW and not layout.several) or number > max(0, count - 1):
        raise misfit("not_there")


async def _may_change(caller: Caller, names: Sequence[str]) -> None:
    """Ask the gate, and have it in the record. Raises what `Caller.use_owner_tool` raises."""
    await caller.use_owner_tool(ToolReply, "settings.change", names=[name[:100] for name in names] or ["settings"])


def _agent_for(entry: _Entry, settings: HouseSettings, caller: Caller) -> str:
    """Return whose tool tries a form: one that may use it."""
    if entry.name in ("home_assistant", "mqtt"):
        return HOUSE.device
    users = as_list(standing(settings.config, entry.section).get("agents"))
    return next((name for name in agents_of(caller) if name in users), "")


def _form(entry: _Entry, settings: HouseSettings, caller: Caller) -> SettingForm:
    layout = entry.layout
    items = [_field(field, entry, settings, caller.house.config) for field in layout.fields]
    hosts = list(layout.hosts({item.name: item.value for item in items})) if layout.hosts else []
    table = standing(settings.config, entry.section)
    barred = [host for host in hosts if table and not _is_allowed(host, settings.config.egress.allow)]
    stands = not layout.several or entry.number < entries(settings.config, layout)
    return SettingForm(
        form=entry.name,
        number=entry.number if stands else NEW,
        several=layout.several,
        fields=items,
        triable=_is_triable(entry, settings),
        reaches=layout.hosts is not None,
        hosts=hosts,
        barred=barred,
    )


def _is_triable(entry: _Entry, settings: HouseSettings) -> bool:
    """Tell whether a tool tries this entry and no other: who reads all calendars cannot tell which one failed."""
    layout = entry.layout
    return bool(layout.tool) and (not layout.several or bool(layout.named_by) or entries(settings.config, layout) <= 1)


def _field(field: FormField, entry: _Entry, settings: HouseSettings, running: Config) -> FormFieldItem:
    section = (*entry.section_of(field), *field.place)
    table = standing(settings.config, section)
    value = _shown(table.get(field.key, field.usual))
    if field.kind == "choice" and isinstance(value, str) and value.lower() in field.choices:
        value = value.lower()
    at_once = counts_at_once(section, field.key)
    waits = not at_once and value != _shown(standing(running, section).get(field.key, field.usual))
    return FormFieldItem(
        name=field.name,
        kind=field.kind,
        choices=list(field.choices),
        value=None if field.kind == "secret" else value,
        filled=bool(table.get(field.key)) if field.kind == "secret" else field.key in table,
        origin=_origin(settings, entry, field),
        at_once=at_once,
        waits=waits,
    )


def _shown(value: object) -> Value:
    """Return a value as a form has it: what no form holds was edited by hand, and is shown in its words."""
    if isinstance(value, tuple | list):
        return as_list(value)
    return value if value is None or (isinstance(value, int | float) and math.isfinite(value)) else str(value)


def _origin(settings: HouseSettings, entry: _Entry, field: FormField) -> str:
    section = entry.section_of(field)
    if section[0] != "tools":
        keys = ("language", "languages") if field.key == "language" else (field.key,)
        origins = {settings.config.origin(".".join((*section, key))) for key in keys}
        return min(origins, key=lambda origin: (origin == "default", origin == str(settings.config.file)))
    filled = field.key in standing(settings.config, (*section, *field.place))
    return str(settings.config.file) if filled else "default"


def _placed(entry: _Entry, settings: HouseSettings) -> _Entry:
    """Return a new entry with the place that it gets."""
    return replace(entry, number=entries(settings.config, entry.layout)) if entry.number == NEW else entry


def _changes(entry: _Entry, values: Mapping[str, Value], reach: bool, settings: HouseSettings) -> Changes:
    """Return what changes in the file as it is now: the form's sections, and what may be reached if that is wanted."""
    changes = _written(entry, values, settings)
    if reach and entry.layout.hosts:
        before = {
            field.name: standing(settings.config, (*entry.section_of(field), *field.place)).get(field.key, field.usual)
            for field in entry.layout.fields
        }
        allowed = list(settings.config.egress.allow)
        missing = [host for host in entry.layout.hosts(before | dict(values)) if not _is_allowed(host, allowed)]
        if missing:
            changes[("egress",)] = {"allow": [*allowed, *missing]}
    return changes


def _typed_file(settings: HouseSettings, entry: _Entry, field: FormField) -> Path | None:
    """Return the file of a secret that was typed into this form before; `None` where there is none of ours."""
    name = str(standing(settings.config, entry.section).get(field.key) or "")
    file = settings.secret_file(Path(name).name) if name else None
    return file if file and str(file) == name else None


def _secret_file(settings: HouseSettings, entry: _Entry, field: FormField) -> Path:
    """Return where a secret is written: where it was, else where nobody else's lies."""
    if file := _typed_file(settings, entry, field):
        return file
    name = f"{entry.name}-{field.name.removesuffix('_file')}"
    file = settings.secret_file(name)
    return settings.secret_file(f"{name}-{random.token_hex(4)}") if file.exists() else file


def _written(entry: _Entry, values: Mapping[str, Value], settings: HouseSettings) -> dict[Section, dict[str, Any]]:
    """Return what goes into the sections; of secrets it is where they lie."""
    written: dict[Section, dict[str, Any]] = {}
    for field in entry.layout.fields:
        if field.name not in values:
            continue
        section, value = entry.section_of(field), values[field.name]
        table = written.setdefault(section, {})
        if field.place:
            inside = table.setdefault(field.place[0], dict(standing(settings.config, (*section, *field.place))))
            inside.pop(field.key, None)
            inside |= {} if value is None else {field.key: value}
        elif field.key == "language":
            table["language"], *more = str(value or field.usual).split(",")
            table["languages"] = [table["language"], *more] if more else None
        else:
            table[field.key] = value
    for field in entry.layout.fields:  # what is usual in the form is not usual in the tools
        inside = written.get(entry.section_of(field), {}).get(field.place[0]) if field.place else None
        if inside and field.usual and field.key not in inside:
            inside[field.key] = fitting(field, field.usual)
    for table in written.values():
        # An inner table without its host reaches nobody, and the tool server would not start with it.
        without_host = {name for name, value in table.items() if isinstance(value, dict) and "host" not in value}
        table |= dict.fromkeys(without_host)
    if entry.layout.several and entry.number == entries(settings.config, entry.layout):
        table = written.setdefault(entry.section, {})
        for field in entry.layout.fields:
            if field.kind == "list" and field.name not in values:
                table[field.key] = field.usual
    return written


def _is_allowed(host: str, allowed: Collection[str]) -> bool:
    """Tell whether a line of [egress] speaks of a host and port; a star stands for what is below a name."""
    lines = [line.split()[0].lower() for line in allowed if line.split()]
    return any(host.lower() == line or (line.startswith("*.") and host.lower().endswith(line[1:])) for line in lines)
