"""One word for one thing: names say what a thing is, and the name of a class stands for one class."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.sources import nodes, python_files

ROOT = Path(__file__).parent.parent
PACKAGES = ("atlas", "tools_server", "wall", "atlas_bench", "scripts")
# They say that something was done, or whose it is, and never what it is.
NO_NAMES = {"found", "said", "told", "kept", "asked", "own", "each"}
BY_CONTRACT = {"Settings"}  # every tool file's own table of settings, which is looked up by this name
AS_STORED = {("Reminder", "said")}  # columns of tools.db, which must stay what they are called


def _named(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield parameters, fields, attributes and locals: whose it is, its name and its line."""
    for node in nodes(path):
        match node:
            case ast.arg(arg=name):
                yield "", name, node.lineno
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                yield "", name, node.lineno
            case ast.ClassDef(name=owner):
                fields = (item.target for item in node.body if isinstance(item, ast.AnnAssign))
                yield from ((owner, target.id, target.lineno) for target in fields if isinstance(target, ast.Name))


def test_no_name_is_a_bare_participle_or_pronoun() -> None:
    wrong = []
    for path in python_files(*PACKAGES):
        named = set(_named(path))
        stored = {(name, line) for owner, name, line in named if (owner, name) in AS_STORED}
        wrong += [
            f"{path.relative_to(ROOT)}:{line} {name}"
            for _owner, name, line in sorted(named, key=lambda item: item[2])
            if name in NO_NAMES and (name, line) not in stored
        ]
    assert sorted(set(wrong)) == []


NO_TYPESCRIPT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`', re.DOTALL)
TYPESCRIPT_NAME = re.compile(rf"(?<![\w.])({'|'.join(NO_NAMES)})\b")  # what stands behind a dot is named elsewhere
NAMED_ELSEWHERE = ("api.ts", "strings/")  # by the house


def test_no_name_of_the_app_is_one_either() -> None:
    files = [file for folder in ("src", "worker", "test") for file in (ROOT / "pwa" / folder).rglob("*.ts*")]
    wrong = []
    for path in (*files, ROOT / "pwa" / "vite.config.ts"):
        if not str(path.relative_to(ROOT / "pwa")).removeprefix("src/").startswith(NAMED_ELSEWHERE):
            code = NO_TYPESCRIPT_CODE.sub("", path.read_text())
            wrong += [f"{path.relative_to(ROOT)} {name}" for name in TYPESCRIPT_NAME.findall(code)]
    assert sorted(set(wrong)) == []


def test_a_public_class_name_stands_for_one_class() -> None:
    places = defaultdict(list)
    for path in python_files(*PACKAGES):
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    twice = {name: paths for name, paths in places.items() if len(paths) > 1 and name not in BY_CONTRACT}
    assert twice == {}


# Of modules that once were called so: who had not read them could not tell what was in them.
RETIRED = {
    *("ahead", "amends", "assent", "choosing", "crowd", "desks", "hearsay", "learn", "learned", "listening", "past"),
    *("presses", "recognising", "shelf", "spoken", "spoken_german", "telling", "waking", "when_said", "wholes"),
    *("wishes",),
}


def test_no_module_has_a_name_that_was_given_up() -> None:
    assert [str(path.relative_to(ROOT)) for path in python_files(*PACKAGES) if path.stem in RETIRED | NO_NAMES] == []


def test_no_library_has_a_package_of_our_name() -> None:
    """One that has would be imported instead of ours, or ours instead of it, by the order of folders alone."""
    ours = set(PACKAGES) - {"scripts"}
    others = {name: owners for name, owners in packages_distributions().items() if name in ours}
    assert {owner for owners in others.values() for owner in owners} <= {"atlas-house"}, others
