"""The one lock of espeak: a library with one voice for the whole process, which each caller sets before its words."""

from __future__ import annotations

import threading

ONE_AT_A_TIME = threading.Lock()
