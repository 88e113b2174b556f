"""Seals the payload of a push message for one browser, as RFC 8291 has it over RFC 8188. Pure but for fresh keys.

A browser gives its public P-256 key and 16 random bytes (`auth`), which only it and the house know. For each message
the house makes a key pair of its own; the secret that both keys agree on and `auth` make a pseudo-random key, and that
with a random salt makes an AES key and a nonce, each by one step of HKDF-SHA-256:

    agreed = ECDH(own private, browser's public)
    ikm    = HKDF(salt=auth, agreed, "WebPush: info" 0 browser's public, own public)
    key    = HKDF(salt, ikm, "Content-Encoding: aes128gcm" 0)      nonce = HKDF(salt, ikm, "Content-Encoding: nonce" 0)

The message is one record: salt, record size, the length of our public key and that key, then the sealed text, which
ends with a 2 ("the last record") and zeros up to the record's length.
"""

from __future__ import annotations

import base64
import binascii
import os
import struct

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

AUTH_BYTES = 16
SALT_BYTES = 16
POINT_BYTES = 65  # an uncompressed point of P-256
RECORD_BYTES = 4096  # the largest that every push service takes
TEXT_BYTES = 128  # every message is padded to this: its size must not tell one kind from another
_LAST = b"\x02"


def unpadded(data: bytes) -> str:
    """Return base64url without its padding, as the Push API spells keys."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def read_unpadded(text: str) -> bytes:
    """Return what base64url stands for. Raises ValueError."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as trouble:
        raise ValueError("that is no base64url") from trouble


def read_point(data: bytes) -> ec.EllipticCurvePublicKey:
    """Return a browser's public key. Raises ValueError for bytes that are no point of the curve."""
    if len(data) != POINT_BYTES:
        raise ValueError(f"a public key has {POINT_BYTES} bytes")
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), data)


def check_keys(public: bytes, auth: bytes) -> None:
    """Raise ValueError for keys that no browser has."""
    read_point(public)
    if len(auth) != AUTH_BYTES:
        raise ValueError(f"the secret has {AUTH_BYTES} bytes")


def point_of(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return the bytes of a public key."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def seal(
    text: bytes,
    public: bytes,
    auth: bytes,
    *,
    size: int = TEXT_BYTES,
    sender: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes = b"",
) -> bytes:
    """Return the body of a push message to the browser with these keys, its text padded to `size` bytes.

    `sender` and `salt` are fresh unless a test gives them. Raises ValueError for keys that cannot be, and for a
    text that is too long.
    """
    check_keys(public, auth)
    if len(text) > size:
        raise ValueError(f"the text has {len(text)} bytes, and {size} is the most")
    sender = sender or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(SALT_BYTES)
    point = point_of(sender.public_key())
    key, nonce = _keys(sender.exchange(ec.ECDH(), read_point(public)), auth, salt, public, point)
    sealed = AESGCM(key).encrypt(nonce, text + _LAST + bytes(size - len(text)), None)
    return salt + struct.pack("!LB", RECORD_BYTES, len(point)) + point + sealed


def _keys(agreed: bytes, auth: bytes, salt: bytes, browser: bytes, sender: bytes) -> tuple[bytes, bytes]:
    ikm = _hkdf(agreed, auth, b"WebPush: info\0" + browser + sender, 32)
    return _hkdf(ikm, salt, b"Content-Encoding: aes128gcm\0", 16), _hkdf(ikm, salt, b"Content-Encoding: nonce\0", 12)


def _hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)
