"""Finds changes whose rows a kill kept out of the record: their receipts are there, and no row tells of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice

from tools_server.sdk.state import StoredReceipt
from wall.chain import Row

MOST_RECEIPTS = 64  # more calls than can be under way when a server ends
MOST_ROWS = 50_000  # a few days of reads between so many changes; takes a second at most


def unrecorded(receipts: Sequence[StoredReceipt], rows: Iterable[Row]) -> list[StoredReceipt]:
    """Return the receipts that no row tells of, the oldest first; receipts and rows come the newest first.

    A receipt from before the rows is passed over: where a record was moved away, nothing can be said.
    """
    missing = {receipt.id: receipt for receipt in receipts}
    oldest_at = math.inf
    for row in islice(rows, MOST_ROWS):
        if not missing:
            break
        oldest_at = at = row["at"] if isinstance(row.get("at"), int | float) else oldest_at
        if id := row.get("receipt"):
            missing.pop(id, None)
        else:  # a call that was given up, or failed, has a row of its own for what it had done by then
            call = (row.get("agent"), row.get("tool"), row.get("turn"))
            missing = {id: one for id, one in missing.items() if (one.agent, one.tool, one.turn) != call or one.at > at}
    return [receipt for receipt in reversed(missing.values()) if receipt.at >= oldest_at]
