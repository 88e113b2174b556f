"""TLS over a stream that was dialled; without it only inside the house."""

from __future__ import annotations

import ipaddress
import ssl
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

Tls = Literal["implicit", "starttls", "none"]
HOUSE_NAMES = (".local", ".lan", ".home.arpa", ".internal")  # RFC 6762, RFC 8375, and what routers hand out


def context(authority: Path | None = None) -> ssl.SSLContext:
    """Return what checks certificates: by the usual authorities, or by the PEM file of the house's own.

    Raises OSError when that file cannot be read, ssl.SSLError when it holds no certificates.
    """
    made = ssl.create_default_context(cafile=str(authority) if authority else None)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made


def in_the_house(host: str) -> bool:
    """Whether a name or address can only be on this network, so that passwords may go there in the clear."""
    name = host.casefold().rstrip(".")
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return name == "localhost" or name.endswith(HOUSE_NAMES)
    return address.is_loopback or address.is_private


def refuse_in_the_clear(url: str) -> None:
    """Raise ValueError for what is no address of the web, or one outside the house that is not reached by https."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url is an address such as https://tools.example.org")
    if parts.scheme == "http" and not in_the_house(parts.hostname):
        raise ValueError(f"{parts.hostname} is not on the network of this house, so it is reached by https")


def allowed(host: str, tls: Tls) -> str:
    """Say why this machine may not be spoken to in this way, "" when it may."""
    if tls != "none" or in_the_house(host):
        return ""
    return f'{host} is not on the network of this house, so tls is "implicit" or "starttls"'
