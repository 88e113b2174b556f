"""Models: those of the catalogue, which are on the disk and in use, and how much memory this machine has for them."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread
from pydantic import Field

from atlas.config import Config
from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply
from atlas.models import catalogue, machine
from atlas.models.catalogue import Model
from atlas.shipped import shipped
from atlas.speech.voices import voice_for

CATALOGUE = shipped("models/catalogue.toml")
router = resource("models", asks=False)


class ModelItem(ApiReply):
    """One model of the catalogue."""

    name: str
    role: str = Field(description="llm, stt, tts, wake, embedding, understanding")
    title: str
    licence: str
    maker: str
    bytes: int
    languages: list[str]
    needs: str = Field(description="In words: what it takes to run it well")
    on_disk: bool
    in_use: bool
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
    return await anyio.to_thread.run_sync(_models, caller.house.config)


def _models(config: Config) -> ModelsReply:
    used = in_use(config)
    folder = config.models.folder
    models = [_item(model, folder, used) for model in catalogue.load(CATALOGUE)]
    places = [
        MemoryItem(name=one.name, free_bytes=one.free_bytes) for one in (machine.ram(measured=False), *machine.gpus())
    ]
    return ModelsReply(models=models, memory=places)


def in_use(config: Config) -> frozenset[str]:
    """Return the names of the models that this house runs with."""
    llm = [one for one in config.llm.values() if not one.url]
    language = {name for one in llm for name in (one.model, one.embedder)}
    return frozenset({config.speech.stt_model, voice_for(config.speech).voice, *language})


def _item(model: Model, folder: Path, used: frozenset[str]) -> ModelItem:
    names = ("name", "role", "title", "licence", "maker", "bytes", "needs", "verified")
    return ModelItem(
        **{name: getattr(model, name) for name in names},
        languages=list(model.languages),
        on_disk=(folder / model.name).is_dir(),
        in_use=model.name in used,
    )
