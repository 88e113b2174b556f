"""The record of every call: where it lies, and what the house has signed of how far it goes.

The rows are a chain (see `wall/chain.py`), on the disk before each answer. A chain does not show that its end was cut
off, and whoever can write the record can write its `.head` as well; so the house, whose key this server does not have,
signs every few seconds how far the record goes, and keeps that where only it can write.
"""

from __future__ import annotations

from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from wall.chain import Head
from wall.meta import HEAD_AUDIENCE

AUDIT_FILE = "audit.jsonl"  # in the data directory


def read_signed_head(file: Path | None, key: Ed25519PublicKey | None) -> Head | None:
    """Return how far the record goes by the house's signature; None when nothing is signed by that key."""
    if file is None or key is None:
        return None
    try:
        token = file.read_text(encoding="ascii").strip()
        claims = jwt.decode(token, key, algorithms=["EdDSA"], audience=HEAD_AUDIENCE, options={"verify_iat": False})
        return Head(int(claims["seq"]), str(claims["hash"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, jwt.InvalidTokenError):
        return None
