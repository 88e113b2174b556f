"""What Atlas says of itself and of its house, by the settings: languages, wake word, address, hub. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlas import __version__
from atlas.config import Config
from atlas.understanding.talk_requests import AboutAtlas

HUBS = {"home_assistant": "Home Assistant", "mqtt": "MQTT", "scripted": "a file of devices"}


@dataclass(frozen=True, slots=True)
class HouseTraits:
    """Values that a prepared sentence may name, and languages by their codes. Those that are "" the house has not."""

    languages: Sequence[str] = ("en",)
    values: Mapping[str, str] = field(default_factory=dict)

    def filled(self, about: AboutAtlas, words: Mapping[str, Any]) -> str:
        """Return the sentence that is true of this house, with its values; `words` name languages and join them."""
        says = next((text for trait, text in about.where if self.values.get(trait)), about.says)
        names = [words["names"].get(code, code) for code in self.languages]
        languages = words["last"].format(", ".join(names[:-1]), names[-1]) if len(names) > 1 else names[0]
        return str(says).format_map({"languages": languages, **self.values})


def traits_of(config: Config, agent: str, voice: str) -> HouseTraits:
    """Return what is true of a house with these settings, as one of its agents says it; `voice` is what speaks."""
    gateway, tools = config.gateway, config.tool_settings
    home, weather = tools.get("home", {}), tools.get("weather", {})
    name = f"{gateway.name}.local" if gateway.mdns else "ADDRESS"
    is_stored = config.speech.near_misses or (config.satellite.enabled and config.satellite.near_misses)
    model = config.llm[config.agents[agent].llm].model
    values = {
        "wake": next(iter((*config.agents[agent].wake_words, *config.speech.wake_words)), "").replace("_", " "),
        "https": gateway.https_host,
        "address": f"https://{name}:{gateway.https_port}",
        "local": f"http://127.0.0.1:{gateway.port}",
        "hub": next((spoken for key, spoken in HUBS.items() if any(home.get(key, {}).values())), ""),
        "weather": str(weather.get("latitude", "")),
        "place": str(weather.get("place", "")) or "home",
        "backup": config.backup.folder,
        "data": str(config.data),
        "outside": ", ".join(place.partition(":")[0] for place in config.egress.allow),
        "stored": "near misses" if is_stored else "",
        "agents": ", ".join(config.agents),
        "model": model,
        "voice": voice,
        "version": __version__,
    }
    return HouseTraits(config.house.spoken, values)
