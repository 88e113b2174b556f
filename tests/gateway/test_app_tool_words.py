"""Every tool that a rule can speak of has words in the app, so that nobody has to know its name."""

from __future__ import annotations

import re

import tools_server.tools
from tests.conftest import ROOT
from tools_server.sdk.toolkit import find

GROUPS = ROOT / "pwa" / "src" / "pages" / "house" / "tool-groups.ts"


def test_every_tool_is_one_of_the_choices_of_a_rule_and_no_choice_is_of_a_tool_that_is_gone() -> None:
    table = GROUPS.read_text(encoding="utf-8").split("} as const;")[0]
    named = re.findall(r'"([a-z]+\.[a-z_]+)"', table)
    tools = {name for name, spec in find(tools_server.tools).tools.items() if not spec.action.agents}
    assert len(tools) > 50, "they are not found any more"
    assert set(named) == tools
    assert len(named) == len(set(named)), "a tool stands in one choice alone"
