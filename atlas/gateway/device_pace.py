"""Paces who asks for the past, or has a page fail: what each device may still do."""

from __future__ import annotations

import math

import anyio

from atlas.errors import RequestError
from atlas.latest import Latest

ALLOWANCE = 60.0  # of a device; one of it grows back each second
COSTS = {
    "search": 1.0,
    "forget": 6.0,  # writes the file anew
    "export": 12.0,  # reads everything
    "page failure": 20.0,  # a line of the log, which has room for a thousand
}
REMEMBERED_DEVICES = 256


class DevicePace:
    """How much each device may still ask for; it grows back within a minute."""

    def __init__(self) -> None:
        self._left = Latest[str, tuple[float, float]](REMEMBERED_DEVICES)  # device → what was left, and when

    def take(self, device: str, cost: float) -> None:
        """Take `cost` of what a device has left. Raises `RequestError` when that is less."""
        now = anyio.current_time()
        left, at = self._left.get(device, (ALLOWANCE, now))
        left = min(ALLOWANCE, left + now - at)
        enough = left >= cost
        self._left[device] = (left - cost if enough else left, now)
        if not enough:
            seconds = math.ceil(cost - left)
            raise RequestError("that is too much at once", code="rate_limit_exceeded", hint=f"wait {seconds} seconds")
