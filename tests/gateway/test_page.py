"""The page's files: all there, bound to this house, and able to load nothing from elsewhere."""

from __future__ import annotations

import re

import pytest

from atlas.errors import ConfigError
from atlas.gateway import page
from tests.gateway.small_house import served

FILES = sorted(path for path in page.FOLDER.iterdir() if path.suffix in page.TYPES)


async def test_the_page_needs_no_token_and_all_that_it_names_is_there(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        home = await http.get("/")
        assert home.headers["content-type"].startswith("text/html")
        named = set(re.findall(r'(?:src|href)="([^"#]+)"', home.text))
        for path in FILES:
            named |= {f"/{name}" for name in re.findall(r'from "\./([^"]+)"', path.read_text())}
            named |= set(re.findall(r'addModule\("([^"]+)"', path.read_text()))
        assert len(named) > 8
        for name in sorted(named):
            reply = await http.get(name)
            assert reply.status_code == 200, name
            assert reply.headers["content-type"].split(";")[0] == page.TYPES[f".{name.rpartition('.')[2]}"]


async def test_a_browser_that_has_a_file_is_told_that_it_has(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        first = await http.get("/main.js")
        again = await http.get("/main.js", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert first.headers["cache-control"] == "no-cache"


async def test_the_page_may_run_only_its_own_files(config, data):
    async with served(config, data) as world, world.http(role=None) as http:
        policy = (await http.get("/")).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_asks_the_internet_or_turns_text_into_markup(path):
    text = path.read_text(encoding="utf-8")
    assert [url for url in re.findall(r"https?://[^\s\"'<)]+", text) if "www.w3.org" not in url] == []
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|style=|\son\w+=\"", text)


def test_the_whole_page_is_small():
    assert sum(path.stat().st_size for path in FILES) < 60_000


def test_a_missing_page_is_said_with_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match="the page is not at"):
        page.routes(tmp_path / "nowhere")
