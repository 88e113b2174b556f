"""Fetches what has a name in this house from the tool server, in the background: no turn waits for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import anyio
import anyio.to_thread

from atlas.conversation import HOUSE, ToolCall, fresh_id
from atlas.errors import StoreError
from atlas.mcp.tools import Tools
from atlas.understanding.names import NamedDevice, NamedPlace, Names

FRESH_SECONDS = 20.0  # a person who came in is known by then; asking costs the tool server 2 ms
RETRY_SECONDS = 2.0  # while the tool server is still starting


class HouseNames:
    """The last that the tool server told. `prepare` is run, in a thread, on names that are new, before they are used.

    Call it for the names as they are now: `HouseNames(…)()`. `people` tells those whose devices come in by a token;
    `called` are other names of people, and whose they are.
    """

    def __init__(
        self,
        tools: Tools,
        prepare: Callable[[Names], object] = lambda _: None,
        people: Callable[[], Awaitable[Sequence[str]]] | None = None,
        called: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._tools = tools
        self._prepare = prepare
        self._people = people
        self._called = called
        self._names = Names()
        self._stale = anyio.Event()

    def __call__(self) -> Names:
        """Return the names; none before the first were fetched."""
        return self._names

    async def watch(self) -> None:
        """Fetch them, and again whenever they may have changed, until cancelled."""
        while True:
            self._stale = anyio.Event()
            known = await self.fetch()
            with anyio.move_on_after(FRESH_SECONDS if known else RETRY_SECONDS):
                await self._stale.wait()

    def look_again(self) -> None:
        """Have them fetched now, for something came, went or is called otherwise."""
        self._stale.set()

    async def fetch(self) -> bool:
        """Fetch them once; tell whether that could be done. Cancelling is safe."""
        turn = fresh_id("turn")
        house = await self._tools.call(ToolCall(fresh_id("call"), "home.list", {}), HOUSE, turn)
        sheets = await self._tools.call(ToolCall(fresh_id("call"), "lists.names", {}), HOUSE, turn)
        if not house.ok and house.error in ("gone", "timeout"):
            return False
        names = read_names(house.data, sheets.data if sheets.ok else {})
        if self._people:
            try:
                others = await self._people()
            except StoreError:  # whoever asks for somebody hears of it where it is looked up
                others = ()
            names = replace(names, people=tuple(dict.fromkeys((*names.people, *others))))
        names = replace(names, called=(*names.called, *self._called.items()))
        if (names := _the_same(names)) is not self._names:
            await anyio.to_thread.run_sync(self._prepare, names)
            self._names = names
        return True


@lru_cache(2)
def _the_same(names: Names) -> Names:
    """Return these names as they were, when they were known: what is remembered by them is found at once."""
    return names


def read_names(house: Mapping[str, Any], sheets: Mapping[str, Any]) -> Names:
    """Return the names in what `home.list` and `lists.names` told. What cannot be read is left out."""
    devices = tuple(
        NamedDevice(
            name=_text(one, "name"),
            kind=_text(one, "kind"),
            room=_text(one, "room"),
            shape=_text(one, "shape"),
            aliases=_texts(one, "aliases"),
            can=frozenset(_texts(one, "can")),
        )
        for one in _tables(house, "devices")
    )
    return Names(
        devices=devices,
        rooms=_places(house, "rooms"),
        floors=_places(house, "floors"),
        people=tuple(device.name for device in devices if device.kind == "person"),
        called=tuple((alias, one.name) for one in devices if one.kind == "person" for alias in one.aliases),
        lists=tuple(_text(one, "name") for one in _tables(sheets, "lists")),
    )


def _places(house: Mapping[str, Any], key: str) -> tuple[NamedPlace, ...]:
    return tuple(
        NamedPlace(_text(one, "name"), _text(one, "floor"), _texts(one, "aliases")) for one in _tables(house, key)
    )


def _tables(house: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    """Return the entries of a list, by name where they are only names."""
    every = house.get(key, [])
    entries = every if isinstance(every, list) else []
    tables = [entry if isinstance(entry, Mapping) else {"name": entry} for entry in entries]
    return [table for table in tables if _text(table, "name")]


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    return value if isinstance(value, str) else ""


def _texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = table.get(key, [])
    return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else ()
