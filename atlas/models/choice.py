"""Says which settings of atlas.toml have the house use a model that is on the disk, for a terminal and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlas.config import Config
from atlas.errors import ConfigError
from atlas.models import machine
from atlas.models.catalogue import Model
from atlas.models.fit import Fit, fit, shape_of
from atlas.models.gguf import model_in, read_model

FIRST_CONTEXT = 8_192  # tokens: what the prompt of an agent and a talk need
SETTING_OF = {"stt": "stt_model", "tts": "voice"}  # of [speech]


Sections = Mapping[tuple[str, ...], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What has the house use a model: settings by their sections; of a language model also whose it is, and where."""

    settings: Sections
    model: str
    role: str
    agent: str = ""
    placed: Fit | None = None

    def sentence(self) -> str:
        """Return it in English, for a terminal; a page has words of its own."""
        if self.placed:
            return f"the {self.agent} agent thinks with {self.model}. {self.placed.advice}"
        return f"the house uses {self.model} as its {'ears' if self.role == 'stt' else 'voice'}."


class ModelNotWhole(ConfigError):
    """A model's files are not as they were published."""


class ModelNotChosen(ConfigError):
    """No setting chooses a model of this kind."""


def chosen(model: Model, agent: str, config: Config) -> ModelChoice:
    """Return how a model is used. Raises `ConfigError`.

    `agent` is whose model a language model becomes. Blocking: it reads the header of the weights.
    """
    if faults := model.faults(config.models.folder):
        raise ModelNotWhole(f"{faults[0]}", hint=f"`atlas models pull {model.name}` first")
    if model.role == "llm":
        if agent not in config.agents:
            raise ConfigError(f"no agent is called {agent!r}", hint=f"there are {', '.join(config.agents)}")
        context = model.context or FIRST_CONTEXT
        shape = shape_of(read_model(model_in(config.models.folder / model.name)))
        placed = fit(shape, machine.gpus(), machine.ram(measured=False), context)
        settings = {"kind": "embedded", "model": model.name, "tools": model.tools, "answers": model.answers}
        settings |= {"most_tools": model.most_tools} if model.tools else {}
        settings |= {"context": context, "gpu_layers": placed.layers_on_gpu}
        sections: Sections = {("llm", model.name): settings, ("agents", agent): {"llm": model.name}}
        return ModelChoice(sections, model.name, model.role, agent, placed)
    if model.role in SETTING_OF:
        return ModelChoice({("speech",): {SETTING_OF[model.role]: model.name}}, model.name, model.role)
    hint = "models of the other roles are found by name"
    raise ModelNotChosen(f"{model.name} is not chosen in atlas.toml", hint=hint)
