"""Forks tool servers that have already imported everything, so that hundreds can be started and killed in a minute.

Reads one line of JSON per server from stdin (the fields of its `ServerSettings`) and answers with its process id.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import anyio

import tools_server.tools
from atlas.cli.tether import tie_to
from tools_server.boot.opening import ServerSettings
from tools_server.sdk.toolkit import find
from tools_server.wires.wire_http import serve_http


def main() -> None:
    """Serve until the end of input; what was forked and still lives dies with this process."""
    zygote = os.getpid()
    find(tools_server.tools)  # two thirds of a start are the tools' own modules and schemas
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the dead at once
    for line in sys.stdin:
        given = {name: Path(value) for name, value in json.loads(line).items()}
        if pid := os.fork():
            sys.stdout.write(f"{pid}\n")
            sys.stdout.flush()
            continue
        tie_to(zygote)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        anyio.run(serve_http, ServerSettings(**given))  # type: ignore[arg-type]
        os._exit(0)


if __name__ == "__main__":
    main()
