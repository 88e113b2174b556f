"""How much one device, one role and one address may have under way at once. Nothing waits here: more is refused.

Every kind of work is counted twice: for the device, so that one token cannot take what is its role's, and for the role,
so that guests cannot take what is the family's. Nobody's share is taken by somebody else: there is no bound that all
have in common, and the owner meets none but the owner's own. Who has no token is counted by address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from atlas.conversation import Actor
from atlas.errors import RequestError
from wall.roles import Role


class PlaceLimit(NamedTuple):
    """What one device may have at once, and all devices of its role together."""

    device: int
    role: int


_SOUNDS: Mapping[Role, PlaceLimit] = {
    "owner": PlaceLimit(8, 8),
    "adult": PlaceLimit(4, 8),
    "teen": PlaceLimit(2, 4),
    "child": PlaceLimit(2, 4),
    "guest": PlaceLimit(2, 4),
    "satellite": PlaceLimit(2, 8),
}
# A household has far less under way. A session takes 3 MB and a detector's work; a recording up to 45 MB while it is
# read; an answer a place in the model's line, which has 16.
LIMITS: Mapping[str, Mapping[Role, PlaceLimit]] = {
    "requests": {
        "owner": PlaceLimit(64, 64),
        "adult": PlaceLimit(24, 48),
        "teen": PlaceLimit(16, 32),
        "child": PlaceLimit(12, 24),
        "guest": PlaceLimit(8, 16),
        "satellite": PlaceLimit(12, 48),
    },
    "sessions": {
        "owner": PlaceLimit(32, 32),
        "adult": PlaceLimit(8, 32),
        "teen": PlaceLimit(6, 16),
        "child": PlaceLimit(4, 8),
        "guest": PlaceLimit(4, 8),
        "satellite": PlaceLimit(4, 48),
    },
    "answers": {
        "owner": PlaceLimit(16, 16),
        "adult": PlaceLimit(8, 16),
        "teen": PlaceLimit(4, 8),
        "child": PlaceLimit(4, 8),
        "guest": PlaceLimit(2, 4),
        "satellite": PlaceLimit(4, 16),
    },
    "recordings": _SOUNDS,
    "readings": _SOUNDS,
}
KINDS_OF_PATH: Mapping[str, Sequence[str]] = {
    "/v1/chat/completions": ("requests", "answers"),
    "/v1/responses": ("requests", "answers"),
    "/v1/audio/transcriptions": ("requests", "recordings"),
    "/api/voice-messages": ("requests", "recordings"),
    "/api/voices": ("requests", "recordings"),
    "/v1/audio/speech": ("requests", "readings"),
    "/v1/realtime": ("sessions",),
    "/api/events": ("sessions",),
}
ANONYMOUS = PlaceLimit(16, 48)  # requests without a token: of one address, and of all


class Occupancy:
    """What is under way, by whom."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[str, str, str]] = Counter()

    @contextmanager
    def place(self, path: str, actor: Actor | None, address: str) -> Iterator[None]:
        """Count a request for as long as the block lasts. Raises `RequestError` when there is no room for it."""
        bounds = _bounds(path, actor, address)
        for key, most in bounds.items():
            if self._taken[key] >= most:
                raise _too_many(key[0], most)
        self._taken.update(bounds.keys())
        try:
            yield
        finally:
            self._taken -= Counter(bounds.keys())


def _bounds(path: str, actor: Actor | None, address: str) -> Mapping[tuple[str, str, str], int]:
    if actor is None:
        return {("requests", "", address): ANONYMOUS.device, ("requests", "", ""): ANONYMOUS.role}
    bounds: dict[tuple[str, str, str], int] = {}
    for kind in KINDS_OF_PATH.get(path, ("requests",)):
        limit = LIMITS[kind][actor.role]
        bounds |= {(kind, actor.role, actor.device): limit.device, (kind, actor.role, ""): limit.role}
    return bounds


def _too_many(kind: str, most: int) -> RequestError:
    return RequestError(
        f"{most} {kind} are under way already",
        code="rate_limit_exceeded",
        spoken="That is too much at once.",
        hint="try again when one is over",
    )
