"""Each conversation goes on from its own prefix, and a new one from the longest that any other has."""

from __future__ import annotations

from atlas.llm_host.cache import Cache, shared


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
            kept = cache.take(str(who), prompt)
            assert shared(kept.tokens, prompt) == len(kept.tokens) >= (100 + turn * 10 if turn else 0)
            kept.tokens[:] = prompt


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
