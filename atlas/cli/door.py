"""The terminal's way to the running house: its address, its token, and what to do when it does not answer."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from atlas.cli.keys import read_secret
from atlas.config import Config
from atlas.errors import AtlasError, ConfigError
from atlas.store.devices import TERMINAL_TALK

NO_TOKEN_STATUS = 401
CONNECT_SECONDS = 5.0


def address(config: Config, scheme: str = "http") -> str:
    """Return where the running house listens, as one of its own machine reaches it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.gateway.host, config.gateway.host)  # noqa: S104
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{config.gateway.port}"


def token(config: Config, environment: Mapping[str, str] | None = None) -> str:
    """Return $ATLAS_TOKEN, else the owner's own. Raises `ConfigError` when there is none."""
    given = (environment if environment is not None else os.environ).get("ATLAS_TOKEN")
    return given or read_secret(config.owner_token)


def device(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the device to say, if any: whoever brings a token of their own is its device, and may say no other."""
    given = (environment if environment is not None else os.environ).get("ATLAS_TOKEN")
    return {} if given else {"device": TERMINAL_TALK}


def not_running(config: Config) -> ConfigError:
    """Return the error for a house that does not answer at all."""
    return ConfigError(f"Atlas does not answer at {address(config)}", hint="start it with ./up, in another terminal")


def refused(status: int, body: bytes) -> AtlasError:
    """Return what the house said no to, in its own words."""
    hint = ""
    try:
        error = json.loads(body)["error"]
        text = str(error.get("sentence") or error["message"])  # of the house's own API, and of OpenAI's formats
        hint = str(error.get("hint", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        text = body[:200].decode("utf-8", "replace") or f"status {status}"
    if status == NO_TOKEN_STATUS:
        hint = "the token is in $ATLAS_TOKEN or in the data directory's secrets"
    return AtlasError(text, hint=hint)


def read(response: httpx2.Response) -> dict[str, Any]:
    """Return what the house answered, read whole. Raises `AtlasError` in the house's own words when that was no."""
    if not response.is_success:
        raise refused(response.status_code, response.content)
    return dict(response.json())


def client(config: Config, **options: Any) -> httpx2.AsyncClient:
    """Return an HTTP client for the house, which speaks plain HTTP on this very machine: no proxy, no certificates."""
    headers = {"authorization": f"Bearer {token(config)}"}
    return httpx2.AsyncClient(base_url=address(config), headers=headers, trust_env=False, verify=False, **options)


@asynccontextmanager
async def opened(config: Config, answer_seconds: float, doubt: str = "") -> AsyncIterator[httpx2.AsyncClient]:
    """Have a client of the running house inside the block. Raises `AtlasError` when that is not there or goes away."""
    try:
        async with client(config, timeout=httpx2.Timeout(answer_seconds, connect=CONNECT_SECONDS)) as house:
            yield house
    except httpx2.ConnectError as nobody:
        raise not_running(config) from nobody
    except httpx2.TransportError as trouble:
        raise AtlasError(
            f"Atlas gave no whole answer ({type(trouble).__name__}){doubt}", hint="see what its terminal says"
        ) from trouble


def printable(text: str) -> str:
    """Return text that cannot move the cursor: part of it may come from a program or a file."""
    return "".join(character if character.isprintable() else " " for character in text)
