"""The app's files: served as they were built, bound to this house, and able to load nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from atlas.gateway import page
from tests.conftest import for_every
from tests.gateway.small_house import served

SOURCES = Path(__file__).parents[2] / "pwa"
WRITTEN = [
    path
    for place in ("src", "worker", "public", "index.html")
    for path in ([SOURCES / place] if (SOURCES / place).is_file() else sorted((SOURCES / place).rglob("*")))
    if path.suffix in {".ts", ".tsx", ".css", ".html", ".webmanifest"}
]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """An app of four files, as a build leaves them."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "index-a1b2c3.js").write_text("export {};")
    (tmp_path / "index.html").write_text('<script type="module" src="/assets/index-a1b2c3.js"></script>')
    (tmp_path / "sw.js").write_text("self;")
    (tmp_path / "weights.json").write_text("{}")
    return tmp_path


def client(folder: Path) -> httpx2.AsyncClient:
    app = Starlette(routes=page.routes(folder))
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://house")


async def test_what_has_a_digest_in_its_name_is_kept_for_ever_and_the_rest_is_asked_for(built):
    async with client(built) as http:
        lasting = {
            url: (await http.get(url)).headers["cache-control"] for url in ("/", "/sw.js", "/assets/index-a1b2c3.js")
        }
        assert lasting["/"] == lasting["/sw.js"] == "no-cache"
        assert lasting["/assets/index-a1b2c3.js"] == "public, max-age=31536000, immutable"
        assert (await http.get("/weights.json")).status_code == 404


async def test_a_browser_that_has_a_file_is_told_that_it_has(built):
    async with client(built) as http:
        first = await http.get("/")
        again = await http.get("/", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_the_app_may_run_only_its_own_files_and_make_no_markup_of_text(built):
    async with client(built) as http:
        policy = (await http.get("/")).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy


async def test_a_house_whose_app_is_not_built_says_what_to_do(tmp_path):
    async with client(tmp_path / "nowhere") as http:
        reply = await http.get("/")
        assert reply.headers["content-type"].startswith("text/html")
        assert "./up" in reply.text


async def test_the_app_needs_no_token(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        assert (await http.get("/")).status_code == 200


@for_every("path", WRITTEN)
def test_no_file_asks_the_internet_or_turns_text_into_markup(path):
    text = path.read_text(encoding="utf-8")
    assert [url for url in re.findall(r"https?://[^\s\"'<)]+", text) if "www.w3.org" not in url] == []
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|\bstyle=\"|\son[a-z]+=\"", text
    )


def test_packages_of_the_app_are_locked_by_hash_and_name_no_registry():
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert lock.count('"integrity"') == lock.count('"version"')
