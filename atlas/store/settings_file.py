"""Changes atlas.toml as a person would: only what is meant, comments kept, and back again where it cannot work."""

from __future__ import annotations

import glob
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Literal

import anyio
import anyio.to_thread
import tomlkit
from tomlkit.container import Container
from tomlkit.items import AbstractTable, AoT, Table, Whitespace

from atlas.config import OWN_FILE, Config
from atlas.errors import ConfigError, EngineError, RequestError, StoreError
from atlas.shipped import shipped
from atlas.store.backup_contents import JOURNAL
from wall.files import delete_drafts, delete_drafts_of, sync_folder, write_whole
from wall.patterns import fits_any, plain
from wall.unsound_rules import UnsoundRules

PolicyRowKind = Literal["rule", "limit", "budget"]
Section = tuple[str, ...]  # of atlas.toml; a last part that is a number, such as "0", is one of several tables
Changes = Mapping[Section, Mapping[str, Any] | None]  # a value that is None is taken out, and so is such a section
Prove = Callable[[Config, str], Awaitable[UnsoundRules | None]]  # of the text of rules; None is that it is sound
Restart = Callable[[Config], Awaitable[Sequence[str]]]  # returns which parts somebody has to start again by hand
log = logging.getLogger("atlas")
NO_START = "The tool server cannot start. "  # its last words begin so, and then say why
OWN_POLICY = shipped("policy.toml")  # comes with Atlas, and belongs to no house


@dataclass(frozen=True, slots=True)
class AtOnce:
    """What of a section counts as soon as it is written; everything else waits for the next start."""

    settings: tuple[str, ...] = ()  # none is all of them
    parts: bool = False  # do processes of the house start again with it?


AT_ONCE = {
    "agents": AtOnce(("devices",)),  # a device that gets another name is answered by the same agent
    "house": AtOnce(("country", "contact")),
    "speech": AtOnce(("near_misses",), parts=True),
    "satellite": AtOnce(("quiet_hours", "volume"), parts=True),
    "tools": AtOnce(parts=True),
    "tool_settings": AtOnce(parts=True),  # [tools.NAME]
    "egress": AtOnce(parts=True),
    "push": AtOnce(),
    "backup": AtOnce(),
}


def counts_at_once(section: Section, setting: str) -> bool:
    """Tell whether a setting counts as soon as it is written."""
    here = AT_ONCE.get(section[0])
    return here is not None and (not here.settings or setting in here.settings)


def with_settings_at_once(running: Config, changed: Config) -> Config:
    """Return the settings that a house runs with after some were changed: those that count at once are the new ones."""

    def piece(now: Any, new: Any, settings: Sequence[str]) -> Any:
        if isinstance(now, Mapping) and settings:
            return {name: piece(one, new[name], settings) if name in new else one for name, one in now.items()}
        return replace(now, **{name: getattr(new, name) for name in settings}) if settings else new

    pieces = {
        name: piece(getattr(running, name), getattr(changed, name), one.settings) for name, one in AT_ONCE.items()
    }
    return replace(running, file=changed.file, origins=changed.origins, **pieces)


def settings_file(config: Config) -> Path:
    """Return the file of settings that is written: what comes with the package belongs to nobody here."""
    return config.data / "atlas.toml" if config.file is None or config.file == OWN_FILE else config.file


def policy_file(config: Config) -> Path:
    """Return the file of the house's rules that is written: beside that of its settings."""
    policy = config.tools.policy
    return settings_file(config).with_name("policy.toml") if policy == OWN_POLICY else policy


def take_back_unproven(config: Config) -> Sequence[Path]:
    """Put files back that were being changed when the house died; return them. What was edited since stays.

    Drafts are deleted. Else only files that `HouseSettings` writes are touched, whatever the journal names.
    Raises `StoreError`.
    """
    delete_drafts(config.secrets)
    for file in (settings_file(config), policy_file(config)):
        delete_drafts_of(file)
    journal = config.secrets / JOURNAL
    if not journal.exists():
        return []
    back: list[Path] = []
    for file, before, after in _journal_rows(journal):
        if not _may_be_written(config, file):
            log.warning("%s is left alone: %s names it, and it is no file of the house's settings", file, journal)
        elif file.exists() and _read(file) == after != before:
            _put_back(file, before)
            back.append(file)
    _delete(journal)
    return back


def _journal_rows(journal: Path) -> Sequence[tuple[Path, str | None, str]]:
    """Return files with their texts before and after; none where it was cut, for then nothing had been changed yet."""
    try:
        rows = [(row["file"], row["before"], row["after"]) for row in json.loads(_read(journal))]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    texts = [text for file, before, after in rows for text in (file, "" if before is None else before, after)]
    if not all(isinstance(text, str) for text in texts):
        return []
    return [(Path(file), before, after) for file, before, after in rows]


def _may_be_written(config: Config, file: Path) -> bool:
    """Tell whether `HouseSettings` writes this file: the settings, the rules, or a secret; and it is no link."""
    path, secrets = file.absolute(), (config.secrets / "settings").absolute()
    is_secret = path.parent == secrets and path.name != ".." and not secrets.is_symlink()
    is_ours = is_secret or path in (settings_file(config).absolute(), policy_file(config).absolute())
    return is_ours and not path.is_symlink() and not path.is_dir()


class HouseSettings:
    """The settings of a running house.

    `load` reads a file as the start does; `restart` has parts go by new ones; `prove` tells whether rules are sound.
    """

    def __init__(self, config: Config, load: Callable[[Path], Config], restart: Restart, prove: Prove) -> None:
        self.config = config
        self._load = load
        self._restart = restart
        self._prove = prove
        self._sound_policy = ""  # the text that was proven last
        self._changing = anyio.Lock()
        self.deciding = anyio.Lock()
        """Held by who looks at what stands there to decide what to change, until it is changed."""

    @property
    def file(self) -> Path:
        """Return the file of settings that is written."""
        return settings_file(self.config)

    async def change(
        self, changes: Changes | Callable[[], Changes], secrets: Mapping[str, str], gone: Collection[str] = ()
    ) -> Sequence[str]:
        """Write settings and secrets (by their files' names) and have them count; all of it or nothing.

        Secrets that are `gone` are deleted once nothing needs them.

        Changes that depend on what stands there are a function, called while nobody else changes anything.
        Returns the parts that somebody has to start again. Not to be cancelled half-way. Raises `RequestError` for
        settings that cannot be, with the reason in its words, and `StoreError`.
        """
        by_hand: Sequence[str] = ()
        with anyio.CancelScope(shield=True):
            async with self._changing:
                by_hand = await self._changed(changes() if callable(changes) else changes, secrets)
                for name in gone:
                    self.secret_file(name).unlink(missing_ok=True)
        return by_hand

    def read_policy(self) -> str:
        """Return the rules as they stand. Raises `StoreError`."""
        return _read(self.config.tools.policy)

    async def prove_policy(self, text: str) -> None:
        """Return when rules are sound together, for the agents of this house and every tool.

        Raises `RequestError` with the reason. Cancelling is safe.
        """
        if text == self._sound_policy:
            return
        if problem := await self._prove(self.config, text):
            sentence = f"that cannot be, and all is as it was: {problem.sentence}"
            raise RequestError(sentence, code="invalid_value", details=problem.details)
        self._sound_policy = text

    async def change_policy(self, changed_text: Callable[[str], str]) -> Sequence[str]:
        """Write other rules and have the tool server go by them, or everything is as it was.

        Returns the parts that somebody has to start again. Not to be cancelled half-way. Raises `RequestError` for
        rules that cannot be or are not sound, and `StoreError`.
        """
        by_hand: Sequence[str] = ()
        with anyio.CancelScope(shield=True):
            async with self._changing:
                by_hand = await self._policy_changed(changed_text(self.read_policy()))
        return by_hand

    async def _policy_changed(self, text: str) -> Sequence[str]:
        await self.prove_policy(text)  # else no tool works while the tool server finds out, and systemd's is not asked
        # The rules count that stand beside the settings.
        beside = {} if self.file.exists() else {self.file: _read(self.file, self.config.file)}
        return await self._written({**beside, policy_file(self.config): text}, restart=True)

    def secret_file(self, name: str) -> Path:
        """Return where a secret lies that was typed into a form."""
        return self.config.secrets / "settings" / name

    async def _changed(self, changes: Changes, secrets: Mapping[str, str]) -> Sequence[str]:
        text = changed(_read(self.file, self.config.file), changes)
        try:
            await anyio.to_thread.run_sync(self._check, text)
        except ConfigError as trouble:
            raise _refusal(trouble) from trouble
        typed = {self.secret_file(name): secret for name, secret in secrets.items()}
        return await self._written({**typed, self.file: text}, restart=bool(secrets))

    async def _written(self, contents: Mapping[Path, str], *, restart: bool) -> Sequence[str]:
        """Write files and have the parts prove them, or everything is as it was.

        A journal says from the first change to the proof what was there before, so that a house that is killed in
        between takes the change back at its next start.
        """
        config, journal = self.config, self.config.secrets / JOURNAL
        before = {file: _read(file) if file.exists() else None for file in contents}
        rows = [{"file": str(file), "before": before[file], "after": text} for file, text in contents.items()]
        _replace(journal, json.dumps(rows))
        try:
            for file, text in contents.items():
                _replace(file, text)
            self.config = self._load(self.file)
            by_hand = await self._restart(self.config) if restart or self._needs_restart(config) else ()
        except (ConfigError, EngineError, StoreError) as trouble:
            for file, content in before.items():
                _put_back(file, content)
            self.config = config
            await self._restart(config)
            _delete(journal)
            if isinstance(trouble, StoreError):
                raise
            raise _refusal(trouble, trouble.hint.partition(NO_START)[2]) from trouble
        _delete(journal)
        return by_hand

    def _needs_restart(self, before: Config) -> bool:
        """Tell whether processes go by something that counts at once and is not as it was."""
        now = with_settings_at_once(before, self.config)
        parts = [section for section, here in AT_ONCE.items() if here.parts]
        return any(getattr(before, section) != getattr(now, section) for section in parts)

    def _check(self, text: str) -> None:
        """Raise `ConfigError` when the house would not start with this text."""
        try:
            # Beside the file, for paths in it are seen from there, and called as all drafts are.
            with NamedTemporaryFile("w", encoding="utf-8", prefix=f".{self.file.name}.", dir=self.file.parent) as draft:
                draft.write(text)
                draft.flush()
                self._load(Path(draft.name))
        except OSError as trouble:
            raise _unwritable(self.file, trouble) from trouble


def _refusal(trouble: ConfigError | EngineError, reason: str = "") -> RequestError:
    text = f"that cannot be, and all is as it was: {reason.replace('Value error, ', '') or trouble}"
    return RequestError(text, code="invalid_value", hint=trouble.hint)


def changed(text: str, changes: Changes) -> str:
    """Return the text of a settings file with some of them changed."""
    document = tomlkit.parse(text)
    for section, values in changes.items():
        if values is None:
            _remove(document, *section)
        else:
            write_section(document, *section, **values)
    return tomlkit.dumps(document)


def with_policy_row(text: str, kind: PolicyRowKind, id: str, values: Mapping[str, Any]) -> str:
    """Return the text of a policy with one row put in, in the place of the one of its id; else behind its kind."""
    document = tomlkit.parse(text)
    if kind not in document:
        document[kind] = tomlkit.aot()
    rows: Any = document[kind]
    row = next((one for one in rows if one.get("id") == id), None)
    if row is None:
        row = tomlkit.table()
        rows.append(row)
    row["id"] = id
    _update(row, values)
    return tomlkit.dumps(document)


def without_policy_row(text: str, kind: PolicyRowKind, id: str) -> str:
    """Return the text of a policy without one row. Raises `RequestError` when it is not there."""
    document = tomlkit.parse(text)
    rows: Any = document.get(kind, ())
    number = next((number for number, one in enumerate(rows) if one.get("id") == id), None)
    if number is None:
        raise RequestError(f"there is no such {kind} in the file", code="not_found", param=kind)
    del rows[number]
    if not rows:
        del document[kind]
    return tomlkit.dumps(document)


def with_device_renamed(text: str, old: str, new: str, *, both: bool = False) -> str:
    """Return the text of a table of rules in which every rule about a device is about it under its new name.

    With `both` it is so under the old one, too: while a device is renamed, no rule is ever without it.
    """
    document, named = tomlkit.parse(text), glob.escape(new)
    for row in document.get("rule", ()):
        before = list(row.get("devices", ()))
        devices = [named if plain(one) in (plain(old), plain(glob.escape(old))) else one for one in before]
        if before and fits_any(before, old) and not fits_any(devices, new):
            devices.append(named)  # known by a pattern that does not fit the new name
        devices = list(dict.fromkeys([*before, *devices] if both else devices))
        if devices != before:
            row["devices"] = devices
    return tomlkit.dumps(document)


def with_new_name(names: Iterable[str], old: str, new: str) -> list[str]:
    """Return names with the new one in place of the old, in letters of whatever case."""
    return [new if name.casefold() == old.casefold() else name for name in names]


def write_section(table: tomlkit.TOMLDocument, *names: str, **settings: Any) -> None:
    """Write settings into a section, before the comment on what follows it; a new section follows those of its kind."""
    if names[-1].isdigit():
        _update(_one_of(table, *names), settings)
        return
    before: Any = table
    for name in names:
        known = (item for key, item in _body(before) if key is not None and key.key == name)
        before = next(known, before)
    comment = _comment_on_next(before) if isinstance(before, Table) else []
    section = _table(table, *names)
    _update(section, settings)
    if comment and not isinstance(_body(section)[-1][1], Whitespace):
        section.add(tomlkit.nl())
    _body(section).extend(comment)


def _update(section: Any, settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        if value is None:
            _drop(section, name)
        elif isinstance(value, dict):
            inline = tomlkit.inline_table()
            inline.update(value)
            section[name] = inline
        else:
            section[name] = value


def _drop(section: Any, name: str) -> None:
    """Take a setting out, and leave the comment behind it as a line of its own."""
    if name not in section:
        return
    comment = section.item(name).trivia.comment
    place = next(number for number, (key, _) in enumerate(_body(section)) if key is not None and key.key == name)
    del section[name]
    if comment:
        _body(section)[place] = (None, tomlkit.comment(comment.lstrip("# ")))


def _one_of(table: tomlkit.TOMLDocument, *names: str) -> Any:
    """Return one of several tables of a name, by its number; it is made when it is the next one."""
    *above, last, number = names
    section: Any = _table(table, *above)
    if not section.get(last):
        section[last] = tomlkit.aot()
    several = section[last]
    assert isinstance(several, AoT | list)
    if int(number) == len(several):
        several.append(tomlkit.table())
    return several[int(number)]


def _remove(table: tomlkit.TOMLDocument, *names: str) -> None:
    """Take one of several tables out. Raises `RequestError` when it is not there."""
    *above, last, number = names
    section: Any = _table(table, *above)
    several = section.get(last, [])
    if int(number) >= len(several):
        raise RequestError("there is no such entry in the file", code="not_there")
    del several[int(number)]
    if not several:
        del section[last]


def _comment_on_next(section: Any) -> list[Any]:
    """Take from the end of a section what stands below its first empty line there."""
    body = _body(section)
    if body and isinstance(body[-1][1], Table):
        return _comment_on_next(body[-1][1])
    begin = len(body)
    while begin and body[begin - 1][0] is None:
        begin -= 1
    empty = (at for at in range(begin, len(body)) if isinstance(body[at][1], Whitespace))
    begin = next(empty, len(body)) + 1
    comment = body[begin:]
    del body[begin:]
    return comment


def _body(section: Any) -> list[Any]:
    """Return the lines of a section as tomlkit keeps them: key and item, and no key for comments and empty lines."""
    container: Container = section if isinstance(section, Container) else section.value
    return container.body


def _table(table: tomlkit.TOMLDocument, *names: str) -> AbstractTable:
    """Return a section of a document, made when it is not there."""
    here: tomlkit.TOMLDocument | AbstractTable = table
    for number, name in enumerate(names, 1):
        if name not in here:
            here[name] = tomlkit.table(is_super_table=number < len(names))
        here = here[name]
    assert isinstance(here, AbstractTable)
    return here


def _read(file: Path, otherwise: Path | None = None) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return _read(otherwise) if otherwise and otherwise != file else ""
    except OSError as trouble:
        raise StoreError(f"{file} cannot be read: {trouble.strerror}", hint="check who may read it") from trouble


def _replace(file: Path, text: str) -> None:
    """Write a file whole or not at all, for its owner to read, and for whoever could read it before."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = file.stat().st_mode if file.exists() else 0o600
        write_whole(file, text.encode(), mode & 0o777)
    except OSError as trouble:
        raise _unwritable(file, trouble) from trouble


def _unwritable(file: Path, trouble: OSError) -> StoreError:
    return StoreError(
        f"{file} cannot be written: {trouble.strerror}", hint="Atlas must be allowed to write its settings"
    )


def _delete(file: Path) -> None:
    file.unlink(missing_ok=True)
    sync_folder(file.parent)


def _put_back(file: Path, content: str | None) -> None:
    """Have a file be what it was; `None` is no file at all."""
    if content is None:
        file.unlink(missing_ok=True)
    else:
        _replace(file, content)
