"""Hands sealed messages to push services (RFC 8030), signed by a key of the house's own (VAPID, RFC 8292).

A push service learns that something waits, when, and for which of its addresses. It cannot read what, and every message
has one size, one time to live and one urgency, so that none of these tells kinds apart.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from atlas.errors import ConfigError, RequestError
from atlas.push.encryption import point_of, seal, unpadded
from wall.files import write_whole

LIVES_SECONDS = 4 * 3600  # for a phone that is switched off; what waited longer is seen when the app is opened
SIGNED_SECONDS = 3600  # the standard allows a day
PATIENCE_SECONDS = 10.0  # for the whole of it: a limit on each read alone would let an answer drip in for ever
# A service may write to the sender about trouble. A house has no address that it should tell, and some demand one.
CONTACT = "mailto:nobody@example.org"
HTTP, HTTPS = 80, 443
MOST_ENDPOINT_CHARACTERS = 1_000
# A name or an address: whatever else stands there ("fe80::1%.example.org"), others may read otherwise.
_HOST = re.compile(r"(?:[a-z0-9-]+\.)*[a-z0-9-]+|[0-9a-f:.]+")
Outcome = Literal["sent", "gone", "failed"]
log = logging.getLogger("atlas")


def open_push_key(file: Path) -> ec.EllipticCurvePrivateKey:
    """Return the key by which push services know this house, made when there is none. Raises `ConfigError`."""
    try:
        if not file.exists():
            fresh = ec.generate_private_key(ec.SECP256R1())
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(file, fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        key = load_pem_private_key(file.read_bytes(), None)
    except (OSError, ValueError, TypeError) as trouble:
        raise ConfigError(
            f"the key {file} cannot be read or made: {trouble}", hint="check who may write it"
        ) from trouble
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ConfigError(f"{file} is no key of the curve P-256", hint="move it away; a new one is made")
    return key


def place_of(endpoint: str) -> str:
    """Return HOST:PORT of a browser's address at its push service. Raises `RequestError` for what cannot be one.

    It is https; plain http only leads to a machine of the house, for what is sealed is sealed there too.
    """
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname or "", parts.port or (HTTP if parts.scheme == "http" else HTTPS)
        fits = len(endpoint) <= MOST_ENDPOINT_CHARACTERS and endpoint.isascii() and endpoint.isprintable()
    except ValueError:
        host, port, fits = "", 0, False
        parts = urlsplit("")
    fits = fits and _HOST.fullmatch(host) is not None
    secure = parts.scheme == "https" or (parts.scheme == "http" and _is_at_home(host))
    if not (fits and host and secure) or parts.username is not None or parts.fragment or " " in endpoint:
        raise RequestError("that is no address of a push service", code="invalid_value", param="endpoint")
    return f"{host}:{port}"


def is_listed(place: str, services: Sequence[str]) -> bool:
    """Tell whether HOST:PORT is one of those; a star stands for one part or more."""
    return any(
        place.endswith(line[1:]) if line.startswith("*.") else place == line
        for line in (service.lower() for service in services)
    )


class PushSender:
    """Sends messages, each at most once."""

    def __init__(
        self,
        key: ec.EllipticCurvePrivateKey,
        client: httpx2.AsyncClient,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._key = key
        self._client = client
        self._patience_seconds = patience_seconds
        self.public = unpadded(point_of(key.public_key()))

    async def send(self, endpoint: str, public: bytes, auth: bytes, text: bytes) -> Outcome:
        """Hand a message to a push service; "gone" when that address is none any more. Cancelling is safe."""
        headers = {
            "Authorization": f"vapid t={self._signed(endpoint)}, k={self.public}",
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(LIVES_SECONDS),
            "Urgency": "high",  # a lower one waits for the phone to be taken up
        }
        try:
            body = seal(text, public, auth)
            with anyio.fail_after(self._patience_seconds):
                async with self._client.stream("POST", endpoint, content=body, headers=headers) as reply:
                    status = reply.status_code  # what else it says nobody reads, however long it is
        except (httpx2.HTTPError, TimeoutError) as trouble:
            log.warning("a push service was not reached: %s", str(trouble) or "it did not answer in time")
            return "failed"
        if status in (404, 410):
            return "gone"
        if status not in (200, 201, 202):
            log.warning("%s answered %d to a push message", place_of(endpoint), status)
            return "failed"
        return "sent"

    def _signed(self, endpoint: str) -> str:
        parts = urlsplit(endpoint)
        claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": int(time.time()) + SIGNED_SECONDS, "sub": CONTACT}
        return jwt.encode(claims, self._key, algorithm="ES256")


def push_client(way: httpx2.AsyncBaseTransport) -> httpx2.AsyncClient:
    """Return a client that follows nobody elsewhere and gives up a service that says nothing."""
    return httpx2.AsyncClient(transport=way, timeout=PATIENCE_SECONDS, follow_redirects=False)


def _is_at_home(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_private and not (address.is_unspecified or address.is_link_local)
