from __future__ import annotations

import dataclasses

import pytest

from atlas.cli import door
from atlas.config import Config, GatewayConfig


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8600"),
        ("0.0.0.0", "http://127.0.0.1:8600"),
        ("::", "http://[::1]:8600"),
        ("fd00::7", "http://[fd00::7]:8600"),
        ("atlas.local", "http://atlas.local:8600"),
    ],
)
def test_the_house_is_found_wherever_it_listens(config: Config, host: str, address: str) -> None:
    assert door.address(dataclasses.replace(config, gateway=GatewayConfig(https_host="", host=host))) == address
