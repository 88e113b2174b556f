"""What can be said in a small house."""

from __future__ import annotations

import pytest

from atlas.hearing.sounds import Sounds


@pytest.fixture(scope="session")
def sounds() -> Sounds:
    return Sounds("en-us")
