"""Decides which key-value prefix goes on for which conversation. Bookkeeping only: `weights.py` has the cells.

A conversation whose cells are given to another is put on the shelf, and taken from there when it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # bookkeeping can be understood without loading llama.cpp
    from atlas.llm_host.prefix_files import SequenceFiles
    from atlas.llm_host.weights import Weights

WORTH_COPYING_TOKENS = 8  # a shorter gain over the conversation's own prefix is not worth a copy
# A shorter gain over what the cells offer is computed. Reading the state of 512 tokens back from a file, checked, took
# as long as computing 5 of them on two cores; a card computes faster than a disk reads, hence the margin.
WORTH_RESTORING_TOKENS = 64


@dataclass(slots=True)
class CachedSequence:
    """One conversation's sequence, and the tokens its cells hold, in order."""

    key: str
    sequence: int
    tokens: list[int] = field(default_factory=list)


class Cache:
    """The prefixes of up to `conversations` conversations; the one unused for longest makes way first.

    Conversations without a key share one entry, "". Reuse is by equal tokens, so an answer never depends on it.
    """

    def __init__(self, cells: Weights, conversations: int, shelf: SequenceFiles | None = None) -> None:
        assert conversations > 0, "at least the running conversation is kept"
        self._cells, self._shelf = cells, shelf
        self._kept: dict[str, CachedSequence] = {}  # in order of use, longest unused first
        self._free = list(range(conversations))

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, key: str, prompt: Sequence[int]) -> CachedSequence:
        """Return the entry of `key`, cut down to a true prefix of `prompt`, at least one token shorter.

        The prefix comes from the conversation itself, from another that shares more (same persona, same tools), or
        from the shelf.
        """
        known = self._kept.pop(key, None)
        sequence = known or self._new(key)
        most = len(prompt) - 1  # the last token is computed again, for its logits
        reused = min(shared(sequence.tokens, prompt), most)
        other = max(self._kept.values(), key=lambda k: shared(k.tokens, prompt), default=None)
        gain = min(shared(other.tokens, prompt), most) if other and self._cells.can_share_prefix else 0
        if not known and self._restore(sequence, prompt, gain):
            reused = min(shared(sequence.tokens, prompt), most)
        elif other and self.holds(other) and gain >= reused + WORTH_COPYING_TOKENS:  # it may have made way in vain
            self._cells.forget(sequence.sequence)
            self._cells.copy(other.sequence, sequence.sequence, gain)
            sequence.tokens, reused = list(prompt[:gain]), gain
        if reused < len(sequence.tokens):
            if not self._cells.forget(sequence.sequence, reused):
                self._cells.forget(sequence.sequence)
                reused = 0
            del sequence.tokens[reused:]
        self._kept[key] = sequence
        return sequence

    def holds(self, sequence: CachedSequence) -> bool:
        """Say whether an entry still has its cells."""
        return self._kept.get(sequence.key) is sequence

    def make_room(self, keep: CachedSequence) -> bool:
        """Shelve the conversation that was unused for longest, but not `keep`; False when there is no other."""
        for sequence in self._kept.values():
            if sequence is not keep:
                self._shelve(sequence)
                self.drop(sequence)
                return True
        return False

    def drop(self, sequence: CachedSequence) -> None:
        """Forget what the cells hold of a conversation."""
        self._cells.forget(sequence.sequence)
        del self._kept[sequence.key]
        self._free.append(sequence.sequence)

    def forget(self, key: str) -> None:
        """Forget a conversation, if it has cells. What is on the shelf is the shelf's."""
        if sequence := self._kept.get(key):
            self.drop(sequence)

    def shelve_all(self) -> None:
        """Put every conversation on the shelf, the last used first: there may not be time for all."""
        for sequence in reversed(self._kept.values()):
            self._shelve(sequence)

    def _new(self, key: str) -> CachedSequence:
        if not self._free:
            oldest = next(iter(self._kept.values()))
            self._shelve(oldest)
            self.drop(oldest)
        return CachedSequence(key, self._free.pop())

    def _shelve(self, sequence: CachedSequence) -> None:
        if not self._shelf or not sequence.key or len(sequence.tokens) < WORTH_RESTORING_TOKENS:
            return
        if self._shelf.has_room_for(self._cells.state_bytes(sequence.sequence)):
            self._shelf.put(sequence.key, tuple(sequence.tokens), self._cells.save(sequence.sequence))

    def _restore(self, sequence: CachedSequence, prompt: Sequence[int], offered: int) -> bool:
        """Fill the empty entry from the shelf, where that saves enough over the `offered` tokens of another."""
        if not self._shelf or not sequence.key:
            return False
        if shared(self._shelf.tokens(sequence.key), prompt) < offered + WORTH_RESTORING_TOKENS:
            return False
        if not (stored := self._shelf.get(sequence.key)):
            return False
        while not self._cells.restore(sequence.sequence, stored.state):
            if not self.make_room(sequence):
                return False
        sequence.tokens = stored.tokens
        return True


def shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many tokens two sequences have in common at the front."""
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))
