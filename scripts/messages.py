"""Bring the catalogues of translations up to what the tools say; with `--missing`, only list what they lack."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / "tools_server"
WALL = ROOT / "wall"  # whose few sentences the tools say
KEYWORDS = {
    "_": None,
    "text": None,
    "noted": None,
    "RecordProblem": None,
    "plural": (1, 2),
    "in_context": ((1, "c"), 2),
}
HEADER = """msgid ""
msgstr ""
"Project-Id-Version: Atlas\\n"
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plural_forms}\\n"

"""


def extracted() -> Catalog:
    """Return everything that the tool server's files have translated."""
    catalog = Catalog(project="Atlas", charset="utf-8", fuzzy=False)
    for folder in (TOOLS, WALL):
        for file, _line, message, comments, context in extract_from_dir(
            folder,
            method_map=[("**.py", "python")],
            keywords=KEYWORDS,
            comment_tags=("Translators:",),
            strip_comment_tags=True,
        ):
            place = [(f"{folder.name}/{file}", None)]
            catalog.add(message, None, place, auto_comments=comments, context=context)
    return catalog


def catalogues() -> Iterator[tuple[Path, Catalog]]:
    """Yield the file of each language, and what it holds."""
    for file in sorted(TOOLS.glob("locale/*/LC_MESSAGES/tools.po")):
        with file.open("rb") as lines:
            yield file, read_po(lines, locale=file.parent.parent.name)


def main() -> int:
    """Write each catalogue anew: new messages come in empty, those that nobody says any more go out."""
    template = extracted()
    for file, catalog in catalogues():
        missing = [message.id for message in template if message.id and not translated(catalog, message)]
        print(f"{file.relative_to(ROOT)}: {len(template) - len(missing)} of {len(template)} translated")
        if "--missing" in sys.argv:
            print(*(f"  {one!r}" for one in missing), sep="\n")
            continue
        catalog.update(template, no_fuzzy_matching=True)
        catalog.obsolete.clear()
        with file.open("wb") as lines:
            lines.write(HEADER.format(language=catalog.locale, plural_forms=catalog.plural_forms).encode())
            write_po(lines, catalog, width=110, omit_header=True, include_lineno=False)
    return 0


def translated(catalog: Catalog, message: object) -> bool:
    """Tell whether a catalogue has every form of a message."""
    mine = catalog.get(message.id, message.context)  # type: ignore[attr-defined]
    return bool(mine and mine.string and all(mine.string if isinstance(mine.string, tuple) else (mine.string,)))


if __name__ == "__main__":
    sys.exit(main())
