"""Pulls models one after the other while the house runs, through its one way out, and tells how far each is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2

from atlas import trace
from atlas.errors import AtlasError
from atlas.models.catalogue import Model
from atlas.models.pull import HUB, Puller, PullProgress
from wall import logs

BROKEN = "Pull it again, and report it if it comes again"


@dataclass(frozen=True, slots=True)
class PullState:
    """How a pull stands: `error` says why it stopped, and it may be begun again; `done` of `total` are bytes."""

    waiting: bool = True
    done: int = 0
    total: int = 0
    left_seconds: float | None = None
    error: str = ""


class ModelPulls:
    """What is being pulled. `run` does it, for as long as the house is open; the verbs only say what is wanted."""

    def __init__(self, folder: Path, client: Callable[[], httpx2.AsyncClient], hub: str = HUB) -> None:
        self._folder = folder
        self._client = client
        self._hub = hub
        self._states: dict[str, PullState] = {}
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._waiting: dict[str, Model] = {}  # in their order, each once however often it was begun and stopped
        self._begun = anyio.Event()

    def states(self) -> Mapping[str, PullState]:
        """Return how each pull stands that was begun; one that is whole is not among them."""
        return dict(self._states)

    def begin(self, model: Model) -> None:
        """Have a model pulled, after those that wait; nothing happens to one that is under way."""
        state = self._states.get(model.name)
        if state is None or state.error:
            self._states[model.name] = PullState()
            self._waiting[model.name] = model
            self._begun.set()

    def stop(self, name: str) -> None:
        """Stop a pull; what was brought stays, and the next one goes on from there."""
        self._states.pop(name, None)
        self._waiting.pop(name, None)
        if scope := self._scopes.get(name):
            scope.cancel()

    async def run(self) -> None:
        """Pull what is wanted, until cancelled."""
        while True:
            while self._waiting:
                model = self._waiting.pop(next(iter(self._waiting)))
                with anyio.CancelScope() as scope:
                    self._scopes[model.name] = scope
                    await self._pull(model)
                del self._scopes[model.name]
            self._begun = anyio.Event()
            await self._begun.wait()

    async def _pull(self, model: Model) -> None:
        def tell(progress: PullProgress) -> None:
            self._states[model.name] = PullState(False, progress.done, progress.total, progress.left_seconds)

        self._states[model.name] = PullState(waiting=False, total=model.bytes)
        try:
            async with self._client() as client:
                await Puller(model, self._folder, tell, client, self._hub).pull()
        except AtlasError as trouble:
            trace.line("model not pulled", model=model.name, error=trouble)
            self._states[model.name] = PullState(error=f"{trouble}. {trouble.hint}".strip())
        except Exception as mistake:  # noqa: BLE001 - of ours or of the hub's, in one pull: the house goes on
            trace.line("model not pulled", model=model.name, error=logs.kind(mistake))
            self._states[model.name] = PullState(error=f"{logs.kind(mistake)}. {BROKEN}")
        else:
            trace.line("model pulled", model=model.name)
            self._states.pop(model.name, None)
