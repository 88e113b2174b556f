"""The one way from the tools to other machines: tunnels through the egress socket, which knows who may be reached."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path


class Unreachable(OSError):
    """There is no way there; `str()` is a sentence fit for speech."""


@dataclass(frozen=True, slots=True)
class Outside:
    """The egress, by its socket; `None` when the house has none, and then nothing outside can be reached."""

    egress: Path | None = None

    def dial(self, host: str, port: int, seconds: float) -> socket.socket:
        """Return a connected byte stream to a machine. Blocking: call it in a thread. Raises `Unreachable`.

        TLS is the caller's, end to end: the egress sees names and sizes, not contents.
        """
        raise Unreachable("I have no way out of the house: nothing is allowed in the settings of egress.")


NOWHERE = Outside()
