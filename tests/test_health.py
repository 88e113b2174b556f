"""What the house says of its own parts."""

from __future__ import annotations

from atlas.conversation import ToolResult
from atlas.gateway.api.health import _part
from atlas.health import Health
from atlas.own_words import speaking


class Answers:
    """Tools that are there."""

    async def call(self, *arguments: object, **more: object) -> ToolResult:
        return ToolResult("call_1", True, "")


async def test_a_voice_that_stands_in_is_told_with_what_is_better_and_makes_no_part_unwell() -> None:
    health = Health({}, Answers(), {}, languages_of_espeak=("de",))  # type: ignore[arg-type]
    state = await health.look()
    assert state["status"] == "ok"
    parts = state["parts"]
    assert isinstance(parts, dict)
    item = _part("voice", parts["voice"])
    assert (item.ok, item.what[:20]) == (True, "espeak-ng speaks Ger")
    assert "under Models" in item.hint
    with speaking("de"):
        parts = (await health.look())["parts"]
    assert isinstance(parts, dict)
    assert parts["voice"]["what"].startswith("espeak-ng spricht Deutsch:")


async def test_a_house_whose_voices_are_good_says_nothing_of_them() -> None:
    parts = (await Health({}, Answers(), {}).look())["parts"]  # type: ignore[arg-type]
    assert isinstance(parts, dict)
    assert [*parts] == ["tools"]
