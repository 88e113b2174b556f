"""Schemathesis drives every operation, with what fits the document and what does not, and checks the answers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
import schemathesis
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from atlas.config import GatewayConfig, load
from atlas.gateway import app
from scripts.api_types import described
from tests.conftest import ROOT
from tests.gateway.api_house import api_house

pytest_plugins = ["schemathesis.pytest.plugin"]
EXCLUDED = [positive_data_acceptance]  # words for a time fit the document, and are not understood
ENDLESS = ("/events",)  # its stream does not end
EXAMPLES = 2 if os.environ.get("ATLAS_EXAMPLES") == "quick" else 6  # of each operation
SLOW = ("/health/findings",)  # it reads gigabytes of models


def without_tokens() -> dict[str, Any]:
    """Return the document as if every token were the owner's: which counts is test_api_admission.py's to test."""
    whole = described()
    for operations in whole["paths"].values():
        for operation in operations.values():
            del operation["security"]
    return whole


document = schemathesis.openapi.from_dict(without_tokens()).exclude(path=[*ENDLESS, *SLOW])
document.config.phases.coverage.enabled = False  # hundreds of cases an operation; minutes
rejection = document.config.checks.negative_data_rejection
rejection.expected_statuses = [*rejection.expected_statuses, "413"]  # too long a text can be too long a body


@pytest.fixture(scope="module")
def house() -> Iterator[tuple[str, str]]:
    """A served house in a thread of its own, for requests comes blocking; its address, and the owner's token."""
    with tempfile.TemporaryDirectory(prefix="atlas-") as folder, start_blocking_portal() as portal:
        data = Path(folder)
        ready: dict[str, str] = {}
        stop = anyio.Event()

        async def serve(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            with app.listen(GatewayConfig(port=0)) as listener:
                port = listener.getsockname()[1]
                config = load({"ATLAS_DATA": str(data)}, ROOT / "atlas.toml")
                async with (
                    api_house(replace(config, gateway=GatewayConfig(https_host="", port=port)), data) as world,
                    anyio.create_task_group() as tasks,
                ):
                    answering = anyio.Event()
                    tasks.start_soon(app.serve, world.house, answering.set, listener)
                    await answering.wait()
                    ready.update(url=f"http://127.0.0.1:{port}/api", token=world.tokens["owner"])
                    task_status.started()
                    await stop.wait()
                    tasks.cancel_scope.cancel()

        future, _ = portal.start_task(serve)
        yield ready["url"], ready["token"]
        portal.call(stop.set)
        future.result()


@document.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_operation_answers_as_its_document_says(case, house):
    url, token = house
    headers = {"authorization": f"Bearer {token}"}
    case.call_and_validate(base_url=url, headers=headers, excluded_checks=EXCLUDED)
