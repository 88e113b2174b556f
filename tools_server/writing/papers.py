"""Reads and writes papers: files with front matter and a text, in an agent's folder, which people edit too.

People may edit, add and delete them while the server runs: nothing is cached, one broken file is reported and hides
no other, and a rewrite changes the one line that it is about: unknown keys, comments and the text stay as they were.
"""

from __future__ import annotations

import base64
import itertools
import re
import unicodedata
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any

import yaml

from tools_server.sdk.arguments import whole
from tools_server.sdk.state import ChangeReceipt, StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed
from tools_server.sdk.wording import one_line
from tools_server.values.language import text as _
from tools_server.values.paths import PathDenied, Root, Stamp

MOST_PAPERS = 1_000  # of one folder: beyond it, a board or a notebook is an archive
DEPTH = 5  # of folders in folders
SLUG_CHARACTERS = 60  # long enough to recognise, far from the limit of file names
FRONT_MATTER_CHARACTERS = 16_384  # a parser is given no more than this


ORIGIN, OTHERS = "origin", "others"  # in the front matter of what was written after reading words of others


class Unreadable(Exception):
    """A file is no paper; `str()` says why, for a person."""


@dataclass(frozen=True, slots=True)
class Paper:
    """One file, as read."""

    file: str  # its path in the root
    values: dict[str, Any]  # its front matter
    text: str  # the whole file
    stamp: Stamp

    @property
    def title(self) -> str:
        """Its title, else its first heading, else the name of its file."""
        return title_of(self.values, self.text, self.file)

    @property
    def of_others(self) -> bool:
        """Whether words of others may have come into it; whoever takes that line out vouches for the rest."""
        return ORIGIN in self.values

    @property
    def body(self) -> str:
        """What stands below the front matter."""
        return body_of(self.text)


# ── reading ────────────────────────────────────────────────────────────────────────────────────────


def read_all(root: Root, folder: str, depth: int = 0) -> tuple[list[Paper], list[dict[str, str]]]:
    """Return every paper in a folder (and in those in it, `depth` deep), and what is wrong with files that are none."""
    papers, problems = [], []
    for file, _entry in itertools.islice(root.walk(folder, depth), MOST_PAPERS):
        if not file.endswith(".md"):
            continue
        try:
            papers.append(read(root, file))
        except (Unreadable, PathDenied) as wrong:
            if not (isinstance(wrong, PathDenied) and wrong.reason == "missing"):  # deleted a moment ago
                problems.append(problem(file.removeprefix(f"{folder}/"), wrong))
    return papers, problems


def problem(file: str, wrong: Exception) -> dict[str, str]:
    """Return what is reported of a file that cannot be read."""
    return {"file": whole(file), "problem": whole(str(wrong)).rstrip(".")}


def read(root: Root, file: str) -> Paper:
    """Return a paper. A file without front matter is one, too. Raises `Unreadable` and `PathDenied`."""
    text, stamp = read_text(root, file)
    return Paper(file, front_matter(text), text, stamp)


def read_text(root: Root, file: str) -> tuple[str, Stamp]:
    """Return the text of a file, line ends as they are. Raises `Unreadable` and `PathDenied`."""
    content, stamp = root.read(file)
    try:
        return content.decode("utf-8"), stamp
    except UnicodeDecodeError:
        raise Unreadable(_("it is not UTF-8 text")) from None


def title_of(values: dict[str, Any], text: str, file: str) -> str:
    """Return the title in the front matter, else the first heading, else the name of the file."""
    if title := one_line(scalar(values.get("title"))):
        return title
    heading = re.search(r"^#[ \t]+(\S[^\n]*)", text, re.MULTILINE)
    name = file.rsplit("/", 1)[-1]
    return one_line(heading.group(1)) if heading else whole(name).removesuffix(".md").replace("-", " ")


def body_of(text: str) -> str:
    """Return what stands below the front matter; everything when there is none."""
    bounds = _block(text)
    return text[text.find("\n", bounds[1]) + 1 :] if bounds and "\n" in text[bounds[1] :] else "" if bounds else text


def scalar(value: Any) -> str:
    """Return a value people wrote as text: YAML makes dates of dates."""
    if value is None or isinstance(value, (dict, list, set, bytes)):
        return ""
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return whole(str(value))


# ── front matter ───────────────────────────────────────────────────────────────────────────────────


def front_matter(text: str) -> dict[str, Any]:
    """Return what stands between the first two `---` lines; {} when there is no front matter. Raises `Unreadable`."""
    bounds = _block(text)
    if bounds is None:
        return {}
    if bounds[1] - bounds[0] > FRONT_MATTER_CHARACTERS:
        raise Unreadable(_("its front matter is too long"))
    return dict(_values(text[bounds[0] : bounds[1]]))


class _FrontMatter(yaml.SafeLoader):
    """Takes no aliases: a value that repeats a value that repeats … fills any memory from a few lines."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(_("an alias"))
        return super().compose_node(parent, index)


@lru_cache(maxsize=MOST_PAPERS)
def _values(block: str) -> dict[str, Any]:
    # By content, so an edited file is always read anew; a board of 200 tasks would else take 0.1 s to list.
    try:
        values = yaml.load(block, _FrontMatter)  # noqa: S506  # a safe loader, made safer
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        line = _(" in line {line}").format(line=mark.line + 2) if mark else ""
        raise Unreadable(_("its front matter is not YAML{line}").format(line=line)) from None
    except (ValueError, RecursionError, OverflowError):
        raise Unreadable(_("its front matter is not YAML")) from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise Unreadable(_("its front matter is not a list of keys and values"))
    return values


_FENCE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


def _block(text: str) -> tuple[int, int] | None:
    """Return where the front matter begins and ends, fences not counted."""
    start = 1 if text.startswith("\ufeff") else 0
    first = _FENCE.match(text, start)
    if first is None:
        return None
    begin = text.find("\n", first.start()) + 1
    second = _FENCE.search(text, begin) if begin else None
    if second is None:
        raise Unreadable(_("its front matter begins with --- and never ends"))
    return begin, second.start()


def with_value(text: str, key: str, value: str) -> str:
    """Return the text with one key of its front matter changed, and every other byte as it was.

    When that one line cannot be found safely (a key inside braces, say), the front matter is written anew: its values
    are kept, its comments are not. The result is read back to be sure.
    """
    bounds = _block(text)
    ending = "\r\n" if "\r\n" in text else "\n"
    if bounds is None:
        return f"---{ending}{_line(key, value).rstrip()}{ending}---{ending}{ending}{text}"
    begin, end = bounds
    wanted = {**front_matter(text), key: value}
    block = text[begin:end]
    line = _line(key, value).rstrip("\n") + ending
    old = re.compile(rf"^(?:{key}|\"{key}\"|'{key}')[ \t]*:[^\n]*\n(?:[ \t]+[^\n]*\n)*", re.MULTILINE)
    edited, count = old.subn(lambda _: line, block, count=1)
    if not count:
        edited = block + line
    changed = text[:begin] + edited + text[end:]
    try:
        same = front_matter(changed) == wanted
    except Unreadable:
        same = False
    if same:
        return changed
    return text[:begin] + yaml.safe_dump(wanted, allow_unicode=True, sort_keys=False, width=10_000) + text[end:]


def headed(values: dict[str, str], body: str = "") -> str:
    """Return a new paper's text: front matter and body."""
    return "---\n" + "".join(_line(key, value) for key, value in values.items()) + "---\n" + body


def _line(key: str, value: str) -> str:
    return yaml.safe_dump({key: value}, allow_unicode=True, width=10_000)


# ── writing ────────────────────────────────────────────────────────────────────────────────────────


def create(root: Root, folder: str, stem: str, text: str, ending: str = ".md") -> str:
    """Write a new paper under a name that begins so, and return its path. Nothing is ever overwritten."""
    taken = {file for file, _entry in root.walk(folder, 0)}
    if len(taken) >= MOST_PAPERS:
        raise ToolFailed(
            "failed", _("There are already {most_papers} of them. Remove some first.").format(most_papers=MOST_PAPERS)
        )
    for number in itertools.count(1):
        file = f"{folder}/{stem}{f'-{number}' if number > 1 else ''}{ending}"
        if file in taken:
            continue
        try:
            root.create(file, text.encode())
        except PathDenied as denied:
            if denied.reason != "exists":  # somebody saved one of that name a moment ago
                raise
        else:
            return file
    raise AssertionError("numbers do not run out")


def slug(title: str, otherwise: str) -> str:
    """Return a file name's stem for any title: small letters, digits, single dashes; `otherwise` when none are left."""
    ascii_only = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")[:SLUG_CHARACTERS].strip("-") or otherwise


def written(call: Call, file: str, stamp: Stamp | None, texts: tuple[str, str | None], changed: str) -> ChangeReceipt:
    """Write a paper of the agent's own folder anew; one without a `stamp` for the first time. Return the receipt.

    `texts` are what was in it and what is to be; None removes it.
    """
    old, new = texts
    if new is None:
        call.home.remove(file)
    elif stamp:
        call.home.replace(file, new.encode(), stamp)
    else:
        call.home.create(file, new.encode())
    return call.receipt(
        changed,
        before=file_state(call.agent.roots[0], file, old) if stamp else None,
        after=None if new is None else file_state(call.agent.roots[0], file, new),
    )


# ── taking back ────────────────────────────────────────────────────────────────────────────────────


def file_state(root: str, file: str, content: str | bytes) -> dict[str, str]:
    """Return what a receipt holds of a file: {"root", "file", "text"}, or "base64" of what is no text."""
    raw = content.encode() if isinstance(content, str) else content
    try:
        return {"root": root, "file": file, "text": raw.decode("utf-8")}
    except UnicodeDecodeError:
        return {"root": root, "file": file, "base64": base64.b64encode(raw).decode()}


async def put_back(call: Call, receipt: StoredReceipt) -> Result:
    """Undo a change of one file, as `restore` does, and say so."""
    file = (receipt.after or receipt.before)["file"]
    restore(call, receipt, file)
    text = call.taken_back(receipt)
    return Result(text, {"file": file}, call.receipt(text, before=receipt.after, after=receipt.before))


def restore(call: Call, receipt: StoredReceipt, name: str) -> None:
    """Put a file back whose receipt holds what `file_state` gives, before and after; None is: no file.

    `name` is said of it. Raises `ToolFailed` when the file is not as that change left it: what somebody wrote since is
    worth more.
    """
    before, after = receipt.before, receipt.after
    there = after or before
    file, root = there["file"], root_of(call, there)
    try:
        if not after:
            root.create(file, _content(before))
            return
        content, stamp = root.read(file)
        if content != _content(after):
            raise edited(name, _("was edited since"))
        if before:
            root.replace(file, _content(before), stamp)
        else:
            root.remove(file)
    except PathDenied as denied:
        since = {"missing": _("was removed since"), "changed": _("was edited since")}
        if denied.reason == "exists":
            raise ToolFailed(
                "failed", _("I can't take that back: there is another {name} in its place now.").format(name=name)
            ) from denied
        if denied.reason not in since:
            raise
        raise edited(name, since[denied.reason]) from denied


def root_of(call: Call, there: dict[str, str]) -> Root:
    """Return the folder that a receipt speaks of. Raises `ToolFailed` when it is not this agent's."""
    root = call.roots.get(there["root"])
    if root is None:
        raise ToolFailed("denied", _("That was done in a folder that is not yours."))
    return root


def edited(name: str, how: str) -> ToolFailed:
    """Return the refusal to undo over what somebody did since."""
    return ToolFailed("failed", _("I can't take that back: {name} {how}.").format(name=name, how=how))


def _content(file: dict[str, str]) -> bytes:
    return file["text"].encode() if "text" in file else base64.b64decode(file["base64"])
