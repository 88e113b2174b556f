"""Write the types of the house's API that the app needs as TypeScript: `scripts/api_types.py` → pwa/src/api.ts.

Made from the OpenAPI document alone, and without any network. A test says when the file is older than the API.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FILE = ROOT / "pwa" / "src" / "api.ts"
HEAD = """// What the app needs of the house's API, by its OpenAPI document. Made by scripts/api_types.py: do not edit.
"""
IMPORT = re.compile(r'import type \{([^}]*)\} from "[./]+/(?:src/)?api\.ts"')
Schema = Mapping[str, Any]


def typescript(document: Schema) -> str:
    """Return the types of the shapes that the app imports, and of those that these are made of."""
    schemas = document["components"]["schemas"]
    names: set[str] = set()
    _reach(schemas, imported() & set(schemas), names)
    return "\n".join([HEAD, *_shapes({name: schemas[name] for name in sorted(names)})])


def imported() -> set[str]:
    """Return the names that files of the app import from an `api.ts`."""
    files = [file for folder in ("src", "test", "worker") for file in (ROOT / "pwa" / folder).rglob("*.ts*")]
    lists = [match for file in files for match in IMPORT.findall(file.read_text())]
    return {name.strip() for names in lists for name in names.split(",")}


def _reach(schemas: Schema, names: set[str], into: set[str]) -> None:
    for name in names - into:
        into.add(name)
        _reach(schemas, set(re.findall(r"'#/components/schemas/(\w+)'", str(schemas[name]))), into)


def _shapes(schemas: Schema) -> Iterator[str]:
    for name, schema in schemas.items():
        if description := schema.get("description", ""):
            yield f"/** {_line(description)} */"
        if "properties" in schema:
            yield f"export interface {name} {{"
            yield from _fields(schema, "  ")
            yield "}\n"
        else:
            yield f"export type {name} = {_type(schema)};\n"


def _fields(schema: Schema, indent: str) -> Iterator[str]:
    required = set(schema.get("required", ()))
    for name, inner in schema["properties"].items():
        if description := inner.get("description", ""):
            yield f"{indent}/** {_line(description)} */"
        yield f"{indent}{name}{'' if name in required else '?'}: {_type(inner)};"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return _literal(schema["const"])
    if "enum" in schema:
        return " | ".join(map(_literal, schema["enum"]))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(map(_type, schema[key])))
    match schema.get("type"):
        case "array":
            items = _type(schema.get("items", {}))
            return f"({items})[]" if " " in items else f"{items}[]"
        case "object":
            more = schema.get("additionalProperties")
            return f"Record<string, {_type(more) if isinstance(more, dict) else 'unknown'}>"
        case "integer" | "number":
            return "number"
        case "string" | "boolean" | "null" as plain:
            return str(plain)
    return "unknown"


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _line(text: str) -> str:
    return " ".join(text.split()).replace("*/", "* /")


def described() -> dict[str, Any]:
    """Return the document of the API; it is the same for every house."""
    sys.path.insert(0, str(ROOT))
    from atlas.gateway.api.door import document, empty

    return document(empty())


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(typescript(described()), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)} is written")
