"""The LLM host: one process, one model, OpenAI's HTTP API on a unix socket or loopback.

    python -m atlas.llm_host.server (--socket PATH | --port N) --model FILE.gguf --name NAME

The URLs are in `http.py`, the work in `host.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import logging
import os
import signal
import socket
from pathlib import Path

import anyio
import uvicorn

from atlas.errors import AtlasError
from atlas.llm_host.host import Host, HostOptions
from atlas.llm_host.http import Closing, app
from atlas.llm_host.listener import HostServer, ImpatientConnection, listen
from wall import logs

SHUTDOWN_SECONDS = 1  # for answers that are being sent; who asked has them again from the next process
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
KEPT_FREE_BYTES = 1024**2  # at the end of a heap
LARGE_BYTES = 256 * 1024  # a buffer from here on is a mapping of its own, gone when it is freed
log = logging.getLogger("atlas.llm_host")


async def serve(options: HostOptions, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT. Raises `EngineError`, in a group, when the model cannot be loaded."""
    host, stopping = Host(options), anyio.Event()
    config = uvicorn.Config(
        Closing(app(host), stopping),
        http=ImpatientConnection,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    server = HostServer(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_on_signal, server, stopping)
        tasks.start_soon(host.run)
        await server.serve(sockets=[listener])
        await host.close()
        tasks.cancel_scope.cancel()


async def _leave_on_signal(server: HostServer, stopping: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _signal in signals:
            server.should_exit = True
            stopping.set()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="atlas-llm-host", description="One language model behind OpenAI's HTTP API.")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--socket", type=Path, help="listen on this unix socket, for this user only")
    place.add_argument("--port", type=int, help="listen on this port of loopback")
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file")
    parser.add_argument("--name", required=True, help="what requests call the model")
    parser.add_argument("--context", type=_count, default=4096, help="tokens, shared by all conversations")
    parser.add_argument("--threads", type=_count, default=2)
    parser.add_argument("--gpu-layers", type=int, default=0, help="-1 is all")
    parser.add_argument("--gpu", type=int, default=-1, help="the one card to use, as nvidia-smi counts; -1 is all")
    parser.add_argument("--conversations", type=_count, default=8, help="how many key-value caches are kept")
    parser.add_argument("--embedder", type=Path, help="the GGUF file of a sentence encoder, called by its folder")
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="where conversations go on from after a restart")
    given = parser.parse_args()
    os.environ.update(cards_seen(given.gpu))  # before llama.cpp looks for cards, which it does as it loads a model
    logs.to_stderr(logging.INFO, "%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_is_no_stop)
    options = HostOptions(
        *(given.model, given.name, given.context, given.threads, given.gpu_layers, given.conversations),
        embedder=given.embedder,
        state_folder=given.kept,
    )
    outcome = 0
    _give_memory_back()
    try:
        listener = listen(given.socket, given.port or 0)
        anyio.run(serve, options, listener)
    except* AtlasError as troubles:
        outcome = 1
        _say(troubles)
    if given.socket and not outcome:
        given.socket.unlink(missing_ok=True)
    logging.shutdown()
    # A model that is being loaded sits in a thread that nothing can interrupt; nothing it does is worth waiting for.
    os._exit(outcome)


def cards_seen(gpu: int) -> dict[str, str]:
    """Return the variables by which CUDA sees one card alone; none for -1, by which it sees all there are.

    What is not seen takes no memory there: llama.cpp's own choice of a card opens a context on each of the others.
    """
    # CUDA itself counts the fastest card first, and nvidia-smi by slot.
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": str(gpu)} if gpu >= 0 else {}


def _say(troubles: BaseExceptionGroup[AtlasError]) -> None:
    for trouble in logs.failures_in(troubles):
        log.error("%s%s", trouble, f" ({trouble.hint})" if trouble.hint else "")


def _is_no_stop(record: logging.LogRecord) -> bool:
    """Say whether a line is worth keeping: answers that a signal ends leave a traceback each, and nothing is wrong."""
    return not (record.exc_info and record.exc_info[0] is asyncio.CancelledError)


def _give_memory_back() -> None:
    """Let freed memory go back to the system at once, where the C library is glibc.

    By itself it learns from the first large buffer to keep such ones, up to 64 MiB in each thread that ever had one: a
    few long prompts at once left 300 MB behind.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        for option, size in ((M_TRIM_THRESHOLD, KEPT_FREE_BYTES), (M_MMAP_THRESHOLD, LARGE_BYTES)):
            mallopt(option, size)


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


if __name__ == "__main__":
    main()
