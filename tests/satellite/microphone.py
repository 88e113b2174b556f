"""A microphone without a sound card: silence as it passes, and every file `*.raw` that is put into a folder, once."""

from __future__ import annotations

import sys
import time
from pathlib import Path

CHUNK_BYTES = 2 * 1024  # 64 ms at 16 kHz
folder, said, began, sent = Path(sys.argv[1]), bytearray(), time.monotonic(), 0
while True:
    for file in sorted(folder.glob("*.raw")):
        said += file.read_bytes()
        file.unlink()
    chunk, said = bytes(said[:CHUNK_BYTES]), said[CHUNK_BYTES:]
    sys.stdout.buffer.write(chunk.ljust(CHUNK_BYTES, b"\0"))
    sys.stdout.buffer.flush()
    sent += 1
    time.sleep(max(0.0, began + sent * CHUNK_BYTES / 32_000 - time.monotonic()))
