"""How much memory the whole house takes, after it has answered a command and a question."""

from __future__ import annotations

from atlas.cli import memory
from atlas.config import Config
from atlas_bench._house import running_house
from atlas_bench.voice import play

TARGETS = {"together_mb": 1500.0}


async def measure(config: Config) -> dict[str, float]:
    """Return megabytes by process, shared pages counted once (PSS), and their sum."""
    async with running_house(config) as house:
        for sentence in ("What time is it?", "Why is the sky blue?"):
            await play(house, sentence)
        rows = memory.house(house)
    figures = {f"{row.name}_mb": round(row.pss / 1e6, 1) for row in rows}
    return figures | {"together_mb": round(sum(row.pss for row in rows) / 1e6, 1)}
