"""Each conversation goes on from its own prefix, and a new one from the longest that any other has."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.llm_host.cache import WORTH_RESTORING_TOKENS, Cache, shared
from atlas.llm_host.prefix_files import Stored


class Pool:
    """Cells that are only lists."""

    def __init__(self, can_share_prefix: bool = True, can_cut: bool = True) -> None:
        self.can_share_prefix, self.can_cut = can_share_prefix, can_cut
        self.done: list[str] = []

    def forget(self, sequence: int, start: int = 0) -> bool:
        self.done.append(f"forget {start}")
        return self.can_cut or start == 0

    def copy(self, source: int, target: int, count: int) -> None:
        self.done.append(f"copy {count}")

    def state_bytes(self, sequence: int) -> int:
        return 7

    def save(self, sequence: int) -> memoryview:
        return memoryview(b"state %d" % sequence)

    def restore(self, sequence: int, state: bytes) -> bool:
        self.done.append(f"restore {state.decode()}")
        return True


class Crowded(Pool):
    """Cells that have room for a restored conversation only when so many others are gone."""

    def __init__(self, must_go: int) -> None:
        super().__init__()
        self.must_go = must_go

    def forget(self, sequence: int, start: int = 0) -> bool:
        self.must_go -= start == 0
        return super().forget(sequence, start)

    def restore(self, sequence: int, state: bytes) -> bool:
        return self.must_go <= 0 and super().restore(sequence, state)


class Memory:
    """A shelf that is only a table."""

    def __init__(self, damaged: bool = False) -> None:
        self.remainder: dict[str, Stored] = {}
        self.damaged = damaged

    def has_room_for(self, size: int) -> bool:
        return True

    def put(self, key: str, tokens: Sequence[int], state: memoryview) -> None:
        self.remainder[key] = Stored(list(tokens), bytes(state))

    def tokens(self, key: str) -> list[int]:
        return self.remainder[key].tokens if key in self.remainder else []

    def get(self, key: str) -> Stored | None:
        return None if self.damaged else self.remainder.get(key)


PERSONA = list(range(100))


def test_the_same_conversation_keeps_what_it_had_and_computes_only_the_rest() -> None:
    cache = Cache(Pool(), 2)
    cache.take("anna", [*PERSONA, 1, 2]).tokens[:] = [*PERSONA, 1, 2, 3]
    assert cache.take("anna", [*PERSONA, 1, 2, 3, 4, 5]).tokens == [*PERSONA, 1, 2, 3]


def test_what_differs_is_cut_off() -> None:
    pool = Pool()
    cache = Cache(pool, 2)
    cache.take("anna", [1]).tokens[:] = [1, 2, 3, 4]
    assert cache.take("anna", [1, 2, 9, 9]).tokens == [1, 2]
    assert pool.done[-1] == "forget 2"


def test_the_last_token_is_always_computed_again() -> None:
    cache = Cache(Pool(), 2)
    cache.take("anna", [1]).tokens[:] = [1, 2, 3]
    assert cache.take("anna", [1, 2, 3]).tokens == [1, 2]


def test_a_new_conversation_begins_with_the_persona_of_another() -> None:
    pool = Pool()
    cache = Cache(pool, 2)
    cache.take("anna", [*PERSONA, 1]).tokens[:] = [*PERSONA, 1]
    assert cache.take("ben", [*PERSONA, 7, 8]).tokens == PERSONA
    assert pool.done[-1] == "copy 100"


def test_two_conversations_do_not_disturb_each_other() -> None:
    cache = Cache(Pool(), 2)
    for turn in range(3):
        for who in (1, 2):
            prompt = [*PERSONA, *[who] * (turn + 1) * 10]
            sequence = cache.take(str(who), prompt)
            assert shared(sequence.tokens, prompt) == len(sequence.tokens) >= (100 + turn * 10 if turn else 0)
            sequence.tokens[:] = prompt


def test_the_conversation_unused_for_longest_makes_way() -> None:
    cache = Cache(Pool(), 2)
    for who, first in (("anna", 1), ("ben", 2), ("anna", 1), ("carl", 3)):
        cache.take(who, [first] * 20).tokens[:] = [first] * 20
    assert len(cache) == 2
    assert len(cache.take("anna", [1] * 30).tokens) == 20


def test_room_is_made_by_forgetting_others_but_never_the_one_that_needs_it() -> None:
    cache = Cache(Pool(), 3)
    keep = cache.take("anna", [1, 2])
    cache.take("ben", [3, 4])
    assert cache.make_room(keep)
    assert not cache.make_room(keep)
    assert len(cache) == 1


def test_a_model_that_cannot_cut_its_memory_starts_over() -> None:
    cache = Cache(Pool(can_share_prefix=False, can_cut=False), 2)
    cache.take("anna", [1]).tokens[:] = [1, 2, 3, 4]
    assert cache.take("anna", [1, 2, 9, 9]).tokens == []


def test_a_conversation_that_lost_its_cells_goes_on_from_the_shelf() -> None:
    shelf = Memory()
    cache = Cache(Pool(), 1, shelf)
    cache.take("anna", PERSONA).tokens[:] = [*PERSONA, 1, 2, 3]
    cache.take("ben", [9] * 50).tokens[:] = [9] * 50
    assert cache.take("anna", [*PERSONA, 1, 2, 3, 4]).tokens == [*PERSONA, 1, 2, 3]


def test_what_was_kept_is_cut_to_what_is_still_so() -> None:
    shelf, pool = Memory(), Pool()
    shelf.put("anna", [*PERSONA, 1, 2, 3], memoryview(b"anna's"))
    assert Cache(pool, 1, shelf).take("anna", [*PERSONA, 1, 7, 7]).tokens == [*PERSONA, 1]
    assert pool.done == ["restore anna's", "forget 101"]


def test_a_new_conversation_begins_with_the_persona_of_one_from_the_shelf() -> None:
    shelf = Memory()
    shelf.put("anna", [*PERSONA, 1, 2, 3], memoryview(b"anna's"))
    cache = Cache(Pool(), 2, shelf)
    cache.take("anna", [*PERSONA, 1, 2, 3, 4])
    assert cache.take("ben", [*PERSONA, 5]).tokens == PERSONA


def test_the_shelf_is_left_alone_when_the_cells_offer_nearly_as_much() -> None:
    long = list(range(300))
    for more, first in ((WORTH_RESTORING_TOKENS - 1, "copy"), (WORTH_RESTORING_TOKENS, "restore")):
        shelf, pool = Memory(), Pool()
        shelf.put("anna", long, memoryview(b"anna's"))
        cache = Cache(pool, 2, shelf)
        cache.take("ben", [0]).tokens[:] = long[: len(long) - more]
        cache.take("anna", [*long, 7])
        assert any(deed.startswith(first) for deed in pool.done)


def test_what_is_damaged_is_computed_again() -> None:
    shelf = Memory(damaged=True)
    shelf.put("anna", PERSONA, memoryview(b""))
    assert Cache(Pool(), 1, shelf).take("anna", [*PERSONA, 1]).tokens == []


def test_others_make_way_for_one_that_comes_back_and_go_on_the_shelf_themselves() -> None:
    shelf = Memory()
    cache = Cache(Crowded(must_go=2), 4, shelf)
    for who in (1, 2, 3):
        cache.take(str(who), [who] * 80).tokens[:] = [who] * 80
    shelf.put("anna", PERSONA, memoryview(b"anna's"))
    assert cache.take("anna", [*PERSONA, 1]).tokens == PERSONA
    assert len(cache) == 2 and {"1", "2"} <= shelf.remainder.keys()


def test_nothing_is_copied_of_one_that_made_way_in_vain() -> None:
    shelf, pool = Memory(), Crowded(must_go=99)
    shelf.put("anna", [*PERSONA, *range(500, 600)], memoryview(b"anna's"))
    cache = Cache(pool, 2, shelf)
    cache.take("ben", PERSONA).tokens[:] = PERSONA
    assert cache.take("anna", [*PERSONA, *range(500, 600), 1]).tokens == []
    assert "copy 100" not in pool.done


def test_one_that_never_fits_is_computed_again() -> None:
    shelf = Memory()
    shelf.put("anna", PERSONA, memoryview(b"anna's"))
    assert Cache(Crowded(must_go=99), 2, shelf).take("anna", [*PERSONA, 1]).tokens == []


def test_conversations_without_a_name_and_short_ones_are_not_kept() -> None:
    shelf = Memory()
    cache = Cache(Pool(), 3, shelf)
    for key, count in (("", 200), ("short", 10), ("long", 200)):
        cache.take(key, [1]).tokens[:] = [1] * count
    cache.shelve_all()
    assert list(shelf.remainder) == ["long"]


def test_at_the_end_the_last_used_is_kept_first() -> None:
    shelf = Memory()
    cache = Cache(Pool(), 3, shelf)
    for who in ("anna", "ben", "carl", "anna"):
        cache.take(who, PERSONA).tokens[:] = PERSONA
    cache.shelve_all()
    assert list(shelf.remainder) == ["anna", "carl", "ben"]


def test_who_is_forgotten_is_not_put_on_the_shelf() -> None:
    shelf = Memory()
    cache = Cache(Pool(), 1, shelf)
    sequence = cache.take("anna", PERSONA)
    sequence.tokens[:] = PERSONA
    cache.forget("anna")
    cache.forget("nobody")
    assert len(cache) == 0 and not shelf.remainder and not cache.holds(sequence)
