"""Reads the list of what may be reached from the house: a machine and its port in each line. Pure."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

AT_HOME = "at-home"
HOME_NAMES = (".local", ".lan", ".home", ".internal", ".home.arpa", ".fritz.box", ".localhost")
_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")


@dataclass(frozen=True, slots=True)
class AllowedAddress:
    """One line of the list: "api.example.org:443", "*.example.org:443", "192.168.1.5:1883", "[fd00::1]:80".

    A name in the open internet must not lead into the house: that is how a stranger's name server would reach its
    router. So private addresses are only for entries that are such an address, a name that only a house has
    ("broker", "nas.local"), or that say so: "cal.example.org:443 at-home".
    """

    host: str
    port: int
    at_home: bool

    @classmethod
    def read(cls, text: str) -> AllowedAddress:
        """Read one line of the list. Raises ValueError with a sentence."""
        where, *marks = text.split() or [""]
        host, colon, port = where.rpartition(":") if where else ("", "", "")
        if not colon or not port.isdecimal() or not 0 < int(port) < 65_536 or marks not in ([], [AT_HOME]):
            raise ValueError(f"{text!r} is not HOST:PORT, such as api.example.org:443 or *.example.org:443")
        host = plain(host)
        if address(host) is not None:
            return cls(host, int(port), at_home=True)
        if not _NAME.fullmatch(host):
            raise ValueError(f"{text!r}: {host!r} is not the name of a machine")
        if host.startswith("*.") and marks:
            raise ValueError(f"{text!r}: only a single machine can be at home")
        return cls(host, int(port), bool(marks) or "." not in host or host.endswith(HOME_NAMES))

    def fits(self, host: str, port: int) -> bool:
        """Whether it speaks of this machine. A star stands for one part or more, never for none."""
        if port != self.port:
            return False
        return host.endswith(self.host[1:]) if self.host.startswith("*.") else host == self.host


def plain(host: str) -> str:
    """Return a host as names are compared: small letters, no final dot, no brackets."""
    return host.removeprefix("[").removesuffix("]").lower().removesuffix(".")


def address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a text is; None when it is a name."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
