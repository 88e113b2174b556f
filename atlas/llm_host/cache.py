"""Which key-value prefix goes on for which conversation. Bookkeeping only: the cells are in `weights.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

WORTH_COPYING_TOKENS = 8  # a shorter gain over the conversation's own prefix is not worth a copy


class Cells(Protocol):
    """What the cache does to sequences of key-value cells."""

    can_share_prefix: bool

    def forget(self, sequence: int, start: int = 0) -> bool:
        """Drop a sequence from position `start` on; False when only the whole can be dropped."""
        ...

    def copy(self, source: int, target: int, count: int) -> None:
        """Let `target` begin with the first `count` tokens of `source`."""
        ...


@dataclass(slots=True)
class Kept:
    """One conversation's sequence, and the tokens its cells hold, in order."""

    key: str
    sequence: int
    tokens: list[int] = field(default_factory=list)


class Cache:
    """The prefixes of up to `conversations` conversations; the one unused for longest is forgotten first.

    Conversations without a key share one entry, "". Reuse is by equal tokens, so an answer never depends on it.
    """

    def __init__(self, cells: Cells, conversations: int) -> None:
        assert conversations > 0, "at least the running conversation is kept"
        self._cells = cells
        self._kept: dict[str, Kept] = {}  # in order of use, longest unused first
        self._free = list(range(conversations))

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, key: str, prompt: Sequence[int]) -> Kept:
        """Return the entry of `key`, cut down to a true prefix of `prompt`, at least one token shorter.

        The prefix comes from the conversation itself, or from another that shares more (same persona, same tools).
        """
        kept = self._kept.pop(key, None) or self._new(key)
        most = len(prompt) - 1  # the last token is computed again, for its logits
        own = min(shared(kept.tokens, prompt), most)
        other = max(self._kept.values(), key=lambda k: shared(k.tokens, prompt), default=None)
        gain = min(shared(other.tokens, prompt), most) if other else 0
        if other and self._cells.can_share_prefix and gain >= own + WORTH_COPYING_TOKENS:
            self._cells.forget(kept.sequence)
            self._cells.copy(other.sequence, kept.sequence, gain)
            kept.tokens = list(prompt[:gain])
        elif own < len(kept.tokens):
            if not self._cells.forget(kept.sequence, own):
                self._cells.forget(kept.sequence)
                own = 0
            del kept.tokens[own:]
        self._kept[key] = kept
        return kept

    def make_room(self, keep: Kept) -> bool:
        """Forget the conversation that was unused for longest, but not `keep`; False when there is no other."""
        for kept in self._kept.values():
            if kept is not keep:
                self.drop(kept)
                return True
        return False

    def drop(self, kept: Kept) -> None:
        """Forget a conversation."""
        self._cells.forget(kept.sequence)
        del self._kept[kept.key]
        self._free.append(kept.sequence)

    def _new(self, key: str) -> Kept:
        if not self._free:
            self.drop(next(iter(self._kept.values())))
        return Kept(key, self._free.pop())


def shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many tokens two sequences have in common at the front."""
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))
