"""The files that only Atlas may read: who each agent is to the tool server, the house's key, the owner's token."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import tomlkit
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from atlas.config import SATELLITE_DEVICE, Config
from atlas.confirmations import read_house_key
from atlas.errors import ConfigError
from atlas.store.devices import TERMINAL, DeviceStore
from wall.disk import disk_sentence
from wall.files import write_whole
from wall.roles import NOBODY

START_BYTES = 256 * 1024  # of settings, databases and logs; a disk with less is as good as full
# What the house itself does: ring, say who was heard, bring people's answers, and sign how far the record goes.
HOUSE_TOOLS = (
    "*.due",
    "*.announced",
    "reminders.heard",
    "asks.*",
    "record.*",
    "rules.*",
    "settings.*",
    "ledger.days",
    "upstream.approve",
    "upstream.offered",
    "upstream.withdraw",
    "home.connected",
    "home.satellites",
    "home.say",
)


def prepare_folders(config: Config) -> None:
    """Make the data directory and what lies in it, for their owner only. Raises `ConfigError` when that cannot be."""
    for folder in (config.data, config.run, config.secrets):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            _try_writing(folder)
        except OSError as trouble:
            what, hint = disk_sentence(trouble, folder)
            raise ConfigError(
                what or f"{folder} cannot be used: {trouble.strerror}",
                hint=hint or "point ATLAS_DATA at a folder of yours",
            ) from trouble


def _try_writing(folder: Path) -> None:
    """Write as much as a start needs, and take it away again. Raises `OSError`."""
    with tempfile.TemporaryFile(dir=folder) as trial:
        trial.write(bytes(START_BYTES))
        trial.flush()
        os.fsync(trial.fileno())


def settle_tools(config: Config) -> None:
    """Give the tool server a folder of its own, with what older versions kept in the common one. Nobody runs now."""
    config.tools_data.mkdir(mode=0o700, exist_ok=True)
    if (config.tools_data / "tools.db").exists():
        return
    for name in ("tools.db-wal", "tools.db-shm", "audit.head", "audit.jsonl", "tools.db"):  # the one asked for is last
        with suppress(FileNotFoundError):
            (config.data / name).rename(config.tools_data / name)


def introduce_agents(config: Config) -> Path:
    """Give every agent and program its token, once; return the file that tells the tool server of their powers."""
    if "house" in (*config.agents, *config.mcp):
        raise ConfigError("no agent can be called 'house', for that is the house's own name", hint="rename it")
    powers: Mapping[str, Mapping[str, object]] = {
        "house": {"tools": HOUSE_TOOLS, "acts_as": "owner"},
        **{
            name: {
                "tools": agent.tools,
                "roots": (config.agent_folder(name),),
                "roles": agent.roles,
                "private": NOBODY not in agent.roles,
            }
            for name, agent in config.agents.items()
        },
        **{
            name: {
                "tools": config.agents[client.agent].tools,
                "roots": (config.agent_folder(client.agent),),
                "roles": (client.acts_as,),
                "acts_as": client.acts_as,
                "private": NOBODY not in config.agents[client.agent].roles,
            }
            for name, client in config.mcp.items()
        },
    }
    lines: list[str] = []
    for name, power in powers.items():
        file = config.tools_token(name)
        if not file.exists():
            write_secret(file, secrets.token_urlsafe(32), once=True)
        digest = hashlib.sha256(read_secret(file).encode()).hexdigest()
        lines += [
            f"[{json.dumps(name)}]",
            f"token_sha256 = {json.dumps(digest)}",
            *(f"{key} = {json.dumps(values)}" for key, values in power.items()),
            "",
        ]
    agents = config.secrets / "agents.toml"
    write_secret(agents, "\n".join(lines))
    return agents


def write_tool_settings(config: Config) -> Path:
    """Hand [tools.NAME] of the settings on to the tool server, which knows what may stand there; return the file."""
    file = config.secrets / "tools.toml"
    write_secret(file, tomlkit.dumps(config.tool_settings))
    return file


def point_at_rules(config: Config) -> None:
    """Let `atlas-tools` at a terminal find the rules that this house obeys, wherever atlas.toml says that they lie."""
    link, draft = config.secrets / "policy.toml", config.secrets / f".policy.{os.getpid()}"
    draft.unlink(missing_ok=True)
    draft.symlink_to(config.tools.policy.absolute())
    draft.replace(link)


def make_house_key(config: Config) -> Path:
    """Make the key that the house signs a person's yes with, once; return the file of its public half.

    Raises `ConfigError` for a key that is there and is none.
    """
    if not config.house_key.exists():
        fresh = Ed25519PrivateKey.generate()
        pem = fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        write_secret(config.house_key, pem.strip(), once=True)
    public = read_house_key(config.house_key).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    write_secret(config.house_public_key, pem.strip())
    return config.house_public_key


async def owners_token(config: Config, devices: DeviceStore) -> tuple[str, bool]:
    """Return the terminal's token, and whether it is new."""
    if config.owner_token.exists():
        return read_secret(config.owner_token), False
    await devices.revoke(TERMINAL)  # its file is lost, so nobody has that token any more
    token = await devices.create(TERMINAL, "owner")
    write_secret(config.owner_token, token)
    return token, True


async def satellite_token(config: Config, devices: DeviceStore) -> None:
    """See to it that the room of this machine has a token, and stands where the settings say."""
    file, room = config.satellite_token, config.satellite.room
    if file.exists() and (actor := await devices.find(read_secret(file))):  # it may have got another name
        await devices.change(actor.device, room=room)
        return
    await devices.revoke(SATELLITE_DEVICE)
    write_secret(file, await devices.create(SATELLITE_DEVICE, "satellite", room=room))


def write_secret(file: Path, text: str, *, once: bool = False) -> None:
    """Write a file that only its owner may read, whole or not at all; with `once`, not over what is there.

    Parts of the house that systemd starts side by side make the same files: of two new keys the first stays.
    """
    write_whole(file, (text + "\n").encode(), replace=not once)


def read_secret(file: Path) -> str:
    """Return what such a file holds. Raises `ConfigError` saying what to do when it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as trouble:
        raise ConfigError(
            f"{file} cannot be read: {trouble.strerror}", hint="it is made by `atlas run`; start that first"
        ) from trouble
    except UnicodeDecodeError as trouble:
        raise ConfigError(f"{file} is damaged", hint="move it away, and `atlas run` makes another") from trouble
