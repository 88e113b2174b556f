"""Models: those of the catalogue, which are on the disk and in use, and how much memory this machine has for them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated

import anyio.to_thread
from fastapi import Path as PathParameter
from pydantic import Field

from atlas.config import Config
from atlas.errors import ConfigError, EngineError, RequestError
from atlas.gateway.api.caller import OwnerCaller, require_part
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import NAME_CHARACTERS, ApiReply, Body, OptionalName, ToolReply
from atlas.models import catalogue, machine
from atlas.models.catalogue import Model
from atlas.models.choice import SETTING_OF, ModelNotChosen, ModelNotWhole, chosen
from atlas.models.pace import ModelPace, pace
from atlas.models.pulls import PullState
from atlas.own_words import own

HUB_HOSTS = "huggingface.co:443 and *.hf.co:443"
ModelName = Annotated[str, PathParameter(min_length=1, max_length=NAME_CHARACTERS)]
router = resource("models")


class PullItem(ApiReply):
    """How a pull stands."""

    waiting: bool = Field(description="Others come first")
    done: int = Field(description="Bytes that were brought and checked")
    total: int
    left_seconds: float | None
    error: str = Field(description="Why it stopped; a new one goes on from there")


class ModelUse(Body):
    """Who is to use a model."""

    agent: OptionalName = ""


class ModelChosen(ApiReply):
    """What was written; it counts when Atlas is started again."""

    model: str
    role: str
    agent: str = Field(description="Whose it is; empty for ears and voices, which are the house's")
    fits: bool = Field(description="Whether there is memory for it")
    layers_on_gpu: int
    gpu_bytes: int
    ram_bytes: int
    tokens_per_second: float | None = Field(description="An estimate, where it is known how fast memory is read")


class ModelItem(ApiReply):
    """One model of the catalogue."""

    name: str
    role: str = Field(description="llm, stt, tts, wake, embedding, understanding")
    title: str
    summary: str = Field(description="In one plain sentence: what it is good for")
    licence: str
    maker: str
    bytes: int
    languages: list[str]
    needs: str = Field(description="In words: what it takes to run it well")
    memory_bytes: int = Field(description="About how much it takes while it is in use")
    fits: bool = Field(description="Whether there is as much of memory now, or it is in use already")
    tokens_per_second: float | None = Field(description="About, on this machine; of a language model")
    command_seconds: float | None = Field(description="About, on this machine's processors; of a recogniser")
    on_disk: bool
    in_use: bool = Field(description="Whether any part of the running house reads it")
    chosen_for: list[str] = Field(description="The agents that think with it from the next start on")
    pullable: bool = Field(description="Whether it can be pulled from here: others come by the terminal")
    usable: bool = Field(description="Whether it is chosen in the settings")
    pull: PullItem | None = Field(description="How its pull stands, where one was begun")
    verified: bool = Field(description="Whether somebody has computed its hashes from the files")


class MemoryItem(ApiReply):
    """A place that weights can be in."""

    name: str
    free_bytes: int


class ModelsReply(ApiReply):
    """The models, and where there is room for them."""

    models: list[ModelItem]
    memory: list[MemoryItem]


@router.get("")
async def list_models(caller: OwnerCaller) -> ModelsReply:
    """List the models of the catalogue, and the memory of this machine."""
    pulls = caller.house.pulls.states() if caller.house.pulls else {}
    config, settings = caller.house.config, caller.house.settings
    written = settings.config if settings else config
    return await anyio.to_thread.run_sync(_models, config, written, caller.house.models, pulls)


@router.post("/{model}/pull", status_code=202)
async def pull_model(caller: OwnerCaller, model: ModelName) -> PullItem:
    """Begin to pull a model from where its maker publishes it, or go on; `GET /api/models` says how far it is."""
    wanted = _named(model)
    pulls = caller.house.pulls
    if pulls is None or not wanted.hub:
        raise RequestError(
            f"{model} comes in a package of another registry", code="not_here", hint=f"run `atlas models pull {model}`"
        )
    if not caller.house.config.egress.allow:
        raise RequestError(
            "nothing may leave the house", code="not_allowed", hint=f"allow {HUB_HOSTS} under what may be reached"
        )
    await caller.use_owner_tool(ToolReply, "settings.change", names=["models.pull"])
    pulls.begin(wanted)
    return PullItem.model_validate(pulls.states()[wanted.name])


@router.delete("/{model}/pull", status_code=204)
async def stop_pull(caller: OwnerCaller, model: ModelName) -> None:
    """Stop a pull; what was brought stays."""
    if caller.house.pulls:
        caller.house.pulls.stop(_named(model).name)


@router.post("/{model}/use")
async def use_model(caller: OwnerCaller, model: ModelName, body: ModelUse) -> ModelChosen:
    """Choose a model that is on the disk, of a language model for an agent. It counts at the next start."""
    settings = require_part(caller.house.settings, "the settings of this house cannot be changed from here")
    agent = body.agent or caller.house.config.house.agent
    try:
        choice = await anyio.to_thread.run_sync(chosen, _named(model), agent, settings.config)
    except (ConfigError, EngineError) as trouble:
        code = "model_not_whole" if isinstance(trouble, ModelNotWhole) else "invalid_value"
        code = "model_not_chosen" if isinstance(trouble, ModelNotChosen) else code
        raise RequestError(str(trouble), code=code, hint=trouble.hint) from trouble
    changes, placed = choice.settings, choice.placed
    names = [f"{'.'.join(section)}.{name}"[:100] for section, values in changes.items() for name in values]
    await caller.use_owner_tool(ToolReply, "settings.change", names=names)
    await settings.change(changes, {})
    return ModelChosen(
        model=choice.model,
        role=choice.role,
        agent=choice.agent,
        fits=placed is None or placed.fits,
        layers_on_gpu=placed.layers_on_gpu if placed else 0,
        gpu_bytes=placed.gpu_bytes if placed else 0,
        ram_bytes=placed.ram_bytes if placed else 0,
        tokens_per_second=placed.tokens_per_second if placed else None,
    )


def _named(name: str) -> Model:
    for model in catalogue.load():
        if model.name == name:
            return model
    raise RequestError("the catalogue has no such model", code="not_found")


def _models(config: Config, written: Config, used: frozenset[str], pulls: Mapping[str, PullState]) -> ModelsReply:
    chosen_for = agents_by_model(written)
    folder = config.models.folder
    ram, gpus = replace(machine.ram(measured=False), bytes_per_second=_ram_speed()), machine.gpus()
    paces = {one.name: pace(one.role, one.bytes, gpus, ram, len(os.sched_getaffinity(0))) for one in catalogue.load()}
    models = [
        _item(model, folder, used, chosen_for.get(model.name, []), pulls.get(model.name), paces[model.name])
        for model in catalogue.load()
    ]
    places = [MemoryItem.model_validate(one) for one in (ram, *gpus)]
    return ModelsReply(models=models, memory=places)


@cache
def _ram_speed() -> float:
    """Return how fast memory is read here: measured once, which takes every core for some tenths of a second."""
    return machine.ram().bytes_per_second


def agents_by_model(config: Config) -> dict[str, list[str]]:
    """Return which agents think with which model of this machine."""
    agents: dict[str, list[str]] = {}
    for name, agent in config.agents.items():
        if not (llm := config.llm[agent.llm]).url:
            agents.setdefault(llm.model, []).append(name)
    return agents


def _item(
    model: Model, folder: Path, used: frozenset[str], chosen_for: list[str], pull: PullState | None, here: ModelPace
) -> ModelItem:
    names = ("name", "role", "licence", "maker", "bytes", "verified")
    return ModelItem(
        **{name: getattr(model, name) for name in names},
        title=own(model.title),
        summary=own(model.summary),
        memory_bytes=here.memory_bytes,
        fits=here.fits or model.name in used,
        tokens_per_second=here.tokens_per_second,
        command_seconds=here.command_seconds,
        needs=own(model.needs),
        languages=list(model.languages),
        on_disk=(folder / model.name).is_dir(),
        in_use=model.name in used,
        chosen_for=chosen_for,
        pullable=bool(model.hub),
        usable=model.role in ("llm", *SETTING_OF),
        pull=PullItem.model_validate(pull) if pull else None,
    )
