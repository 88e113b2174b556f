"""Every snippet of docs/big-models.md is taken as it is printed, and opens a backend."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from atlas.config import load
from atlas.engine import open_engine
from atlas.opening import _backend_settings

PAGE = Path(__file__).parent.parent / "docs" / "big-models.md"
SNIPPETS = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("snippet", SNIPPETS)
async def test_a_snippet_is_understood_and_opens_a_backend(data: Path, snippet: str) -> None:
    file = data / "atlas.toml"
    key = data / "vllm.key"
    key.write_text("secret\n", encoding="utf-8")
    file.write_text(snippet.replace("/etc/atlas/vllm.key", str(key)), encoding="utf-8")
    config = load({"ATLAS_DATA": str(data)}, file)
    (name,) = (name for name, llm in config.llm.items() if llm.kind == "server")
    settings = _backend_settings(config, name, config.llm[name])
    assert settings.tools and not settings.own_host and settings.base_url.endswith("/v1")
    backend = await open_engine("backend", "openai", settings)
    assert backend.model == config.llm[name].model
    await backend.aclose()


def test_every_way_of_serving_has_its_snippet() -> None:
    assert len(SNIPPETS) == PAGE.read_text(encoding="utf-8").count("\n## ")
