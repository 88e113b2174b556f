"""The OpenAPI document: whole, free of foreign scripts, and the page's types are made of it."""

from __future__ import annotations

import re
from typing import Any

import anyio
from fastapi import FastAPI

from atlas.gateway.api import door
from scripts.api_types import FILE, described, typescript
from tests.gateway.api_house import api_house


def test_the_types_of_the_page_are_those_of_the_api():
    assert FILE.read_text() == typescript(described()), "run: python scripts/api_types.py"


def test_every_operation_says_what_it_does_and_whom_it_is_for():
    names = []
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            assert operation["description"].endswith("."), (method, path)
            assert operation["x-roles"], (method, path)
            names.append(operation["operationId"])
    assert len(set(names)) == len(names)


async def test_the_document_is_made_once_however_many_ask(config, data, monkeypatch):
    made, document = [], door.document

    def counting(api: FastAPI) -> dict[str, Any]:
        made.append(api)
        return document(api)

    monkeypatch.setattr(door, "document", counting)
    async with api_house(config, data) as world, world.http(None) as http, anyio.create_task_group() as tasks:
        for path in ("/api/openapi.json", "/api/", "/api/openapi.json"):
            tasks.start_soon(http.get, path)
    assert len(made) == 1


async def test_the_document_and_its_viewer_are_served_without_anything_foreign(config, data):
    async with api_house(config, data) as world, world.http(None) as http:
        assert (await http.get("/api/openapi.json")).json() == described()
        page = await http.get("/api/")
        assert page.headers["content-type"].startswith("text/html")
        assert not re.search(r"<script|https?://|<link", page.text)
        assert "POST /api/timers" in page.text
        for path in ("/api/docs", "/api/redoc"):
            assert (await http.get(path)).status_code == 404
