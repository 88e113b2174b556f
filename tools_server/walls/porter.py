"""Fetches connections to the egress for a process that may not connect to anything by itself.

Landlock cannot tell one unix socket from another, so the walls forbid `connect` altogether. Before they go up, this
process is forked: it hands over a fresh connection to that one socket for every mark it is sent, with the mark, and
can do no more. What it hands over too late for whoever asked is known by its mark, and closed.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
from pathlib import Path

MARK_BYTES = 8
ANSWER_SECONDS = 5.0  # connecting to a unix socket takes microseconds, or fails


class Porter:
    """The near end. May be used from any thread."""

    def __init__(self, egress: Path) -> None:
        """Fork; only in a process of one thread."""
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._asking = threading.Lock()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._ours.close()
                _carry(theirs, egress)
            finally:
                os._exit(0)
        theirs.close()
        self._ours.settimeout(ANSWER_SECONDS)

    @property
    def is_alive(self) -> bool:
        """Whether the far end is there; without it nothing is reached until this process starts again."""
        watched = select.poll()
        watched.register(self._ours, 0)  # of a hang-up one is told always
        return not watched.poll(0)

    def connected(self) -> socket.socket:
        """Return a connection to the egress. Raises OSError when it is not there."""
        mark = os.urandom(MARK_BYTES)
        with self._asking:
            self._ours.send(mark)
            text, handles, _, _ = socket.recv_fds(self._ours, MARK_BYTES, 1)
            while text and text != mark:
                for handle in handles:
                    os.close(handle)
                text, handles, _, _ = socket.recv_fds(self._ours, MARK_BYTES, 1)
        if not handles:
            raise ConnectionRefusedError("the egress is not there")
        os.set_inheritable(handles[0], False)
        return socket.socket(fileno=handles[0])


def _carry(connection: socket.socket, egress: Path) -> None:
    """Answer until the asking side is gone."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # live calls may still need a way out; the end of the socket is the end
    mine = connection.fileno()
    for begin, end in ((0, 2), (3, mine), (mine + 1, 1024)):  # wires of the other process, which must end with it
        os.closerange(begin, end)
    while mark := connection.recv(MARK_BYTES):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as way:
            try:
                way.connect(str(egress))
            except OSError:
                connection.send(mark)
            else:
                socket.send_fds(connection, [mark], [way.fileno()])
