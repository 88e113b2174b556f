"""What a hub of devices is: it stays connected, takes commands, and tells the house of every change."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import anyio

from tools_server.hubs.devices import State
from wall import logs
from wall.backoff import Backoff

FIRST_BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 60.0
log = logging.getLogger(__name__)


class Hub(ABC):
    """Whatever devices are connected to."""

    name: ClassVar[str]

    def __init__(self, turned: Callable[[bool], None]) -> None:
        """Tell `turned` of every change: with True when the devices themselves, not only their states, differ."""
        self._turned = turned
        self.connected = False

    @abstractmethod
    async def tell(self, id: str, wanted: State) -> None:
        """Have a device take a state. Raises OSError, also when it is refused."""

    async def run(self) -> None:
        """Stay connected, until cancelled."""
        backoff = Backoff(FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS)
        while True:
            try:
                await self._session()
            except* (OSError, ValueError) as troubles:  # TimeoutError is one
                log.warning("%s unreachable=%s", self.name, next(logs.failures_in(troubles)))
            finally:
                self._hang_up()
                worked, self.connected = self.connected, False
                if worked:
                    self._turned(True)
            await anyio.sleep(backoff.wait_seconds(worked=worked))

    @abstractmethod
    async def _session(self) -> None:
        """Connect, and return when the connection is lost. Raises OSError."""

    def _hang_up(self) -> None:
        """Let go of what a session held."""
        return
