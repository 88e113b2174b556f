"""`atlas backup`: make a backup while the house runs, look whether one is whole, give a house back from one."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from atlas.cli.door import printable
from atlas.cli.keys import prepare_folders
from atlas.cli.lock import only_one
from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import ConfigError
from atlas.store import backup
from atlas.store.backup_archive import Secrets

MOST_REMARKS = 50  # that are printed
BACKGROUND = 10  # how much the day's backup stands back for everything else that computes
WITHOUT = (
    "Not in it: keys, tokens and passwords. A house given back from it asks for its passwords again, and phones trust"
    " it anew; --passphrase-file FILE takes them along, sealed."
)
PLAIN = (
    "WARNING: keys, tokens and passwords of this house stand in it in plain, and whoever reads it can be this house."
    " Only its owner may read it here; a USB stick or another machine does not know that."
)


def main(arguments: Sequence[str]) -> int:
    """Run one of the three; return the exit status."""
    parser = argparse.ArgumentParser(prog="atlas backup", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="create|check|restore")
    making = verbs.add_parser("create", help="make a backup, while the house runs or not")
    making.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="DIR",
        help="where it is put, best on another disk; without it the day's backup is made, as [backup] has it",
    )
    which = making.add_mutually_exclusive_group()
    which.add_argument("--passphrase-file", type=Path, metavar="FILE", help="take keys and passwords along, sealed")
    which.add_argument("--plain-secrets", action="store_true", help="take keys and passwords along, readable")
    looking = verbs.add_parser("check", help="read a backup and compare it with what was written")
    looking.add_argument("file", type=Path, metavar="FILE")
    looking.add_argument("--passphrase-file", type=Path, metavar="FILE", help="see whether it opens what is sealed")
    giving = verbs.add_parser("restore", help="give the house back from a backup; it must not run")
    giving.add_argument("file", type=Path, metavar="FILE")
    giving.add_argument("--passphrase-file", type=Path, metavar="FILE", help="that opens what is sealed in it")
    giving.add_argument("--replace", action="store_true", help="put aside the house that is there")
    given = parser.parse_args(arguments)
    config = load_config(os.environ)
    match given.verb:
        case "create":
            if given.folder is None and not given.passphrase_file and not given.plain_secrets:
                return _create_daily(config)
            if given.folder is None:
                raise ConfigError("no folder is given", hint="atlas backup create DIR, with what you gave besides")
            return _create(config, given.folder, given.passphrase_file, plain=given.plain_secrets)
        case "check":
            return _check(given.file, given.passphrase_file)
        case _:
            return _restore(config, given.file, given.passphrase_file, replace=given.replace)


def _create(config: Config, folder: Path, passphrase_file: Path | None, *, plain: bool) -> int:
    if backup.is_empty(config):
        raise ConfigError(f"there is no house in {config.data}", hint="set ATLAS_DATA to where it lies")
    backup.require_folder(folder)
    secrets: Secrets = "sealed" if passphrase_file else "plain" if plain else "none"
    return _show(backup.create(config, folder, secrets, _new_passphrase(passphrase_file)), secrets)


def _create_daily(config: Config) -> int:
    """Make the day's backup, as the house does by itself at its hour."""
    os.nice(BACKGROUND)
    settings = config.backup
    if not settings.folder:
        raise ConfigError(
            "no folder is given, and none stands in [backup]", hint="atlas backup create DIR, on another disk"
        )
    file = Path(settings.passphrase_file) if settings.passphrase_file else None
    return _show(backup.create_daily(config, _new_passphrase(file)), "sealed" if file else "none")


def _new_passphrase(file: Path | None) -> str:
    """Return a passphrase that is long enough to seal with; "" where there is none."""
    passphrase = _passphrase(file)
    if file and len(passphrase) < backup.FEWEST_PASSPHRASE_CHARACTERS:
        raise ConfigError(
            f"the passphrase in {file} is shorter than {backup.FEWEST_PASSPHRASE_CHARACTERS} characters",
            hint="take a few words, and keep them elsewhere than the backup",
        )
    return passphrase


def _show(file: Path, secrets: Secrets) -> int:
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB, read back and whole")
    _show_remarks(backup.read(file).remarks)
    print({"none": WITHOUT, "plain": PLAIN, "sealed": "Keys and passwords are in it, sealed."}[secrets])
    return 0


def _check(file: Path, passphrase_file: Path | None) -> int:
    contents = backup.read(file, passphrase=_passphrase(passphrase_file))
    made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(contents.at))
    print(f"whole: {len(contents.files)} files of {made}, by Atlas {contents.version}; secrets: {contents.secrets}")
    if passphrase_file:
        print("The passphrase opens them." if contents.secrets == "sealed" else "Nothing in it is sealed.")
    _show_remarks(contents.remarks)
    return 0


def _show_remarks(remarks: Mapping[str, str]) -> None:
    """Print what is not in a backup, or not as usual."""
    for name, why in list(remarks.items())[:MOST_REMARKS]:
        print(f"Note: {printable(name)} {printable(why)}.")
    if len(remarks) > MOST_REMARKS:
        print(f"Note: and {len(remarks) - MOST_REMARKS} more like these.")


def _restore(config: Config, file: Path, passphrase_file: Path | None, *, replace: bool) -> int:
    prepare_folders(config)
    with only_one(config):
        if not replace and not backup.is_empty(config) and not backup.is_unfinished(config.data):
            raise ConfigError(
                f"there is a house in {config.data}",
                hint="--replace puts it aside, into a folder beside; or set ATLAS_DATA to another place",
            )
        contents = backup.restore(config, file, _passphrase(passphrase_file))
    print(f"{len(contents.files)} files are in {config.data} again. Start it with `atlas run`.")
    if contents.secrets == "none":
        print("The backup has no keys and passwords: passwords are asked for again, and phones trust the house anew.")
    for name, place in contents.outside.items():
        where = f"it is in a folder settings-… of {config.data}, to be put there"
        print(f"{Path(name).name} lay at {printable(place)}; {where}.")
    return 0


def _passphrase(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as trouble:
        raise ConfigError(f"{file} cannot be read: {trouble}", hint="one line of text, the passphrase") from trouble
