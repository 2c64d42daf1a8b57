"""The shuffle is a bijection, batches equal a token-by-token construction, ranks share them, positions resume."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.permutation import Permutation
from atd.ragged import offsets_of
from atd.vocabulary import BOS_ID
from atd.windows import WindowLoader


def corpus(lengths: list[int], attributes: str = "document", seed: int = 0) -> EncodedCorpus:
    rng = np.random.default_rng(seed)
    offsets = offsets_of(lengths)
    n = int(offsets[-1])
    shape = {"document": len(lengths), "many": (len(lengths), 3), "token": n}[attributes]
    values = rng.integers(0, 100, shape).astype(np.int32)
    tokens = (np.arange(n) + 10).astype(np.int32)  # every token differs, so that an example is known by its target
    return EncodedCorpus(tokens, offsets, values, per_token=attributes == "token")


def naive(c: EncodedCorpus, context: int) -> dict[int, tuple]:
    """target → (context, attribute), one Python object per token."""
    out = {}
    for d in range(len(c)):
        words = [BOS_ID] * context + c[d].tolist()
        for j, word in enumerate(c[d].tolist()):
            attribute = c.attributes[c.offsets[d] + j if c.per_token else d]
            out[word] = (words[j : j + context], np.asarray(attribute).tolist())
    return out


def seen(loader: WindowLoader) -> list[int]:
    return [t for batch in loader for t in batch.target.tolist()]


@given(st.integers(1, 3000), st.integers(0, 2**32))
def test_permutation_is_a_bijection(n, key):
    assert np.array_equal(np.sort(Permutation(n, key)(np.arange(n))), np.arange(n))


def test_permutation_stays_in_range_beyond_32_bits():
    n = 5_000_000_011
    out = Permutation(n, (1, 2))(np.arange(n - 10_000, n))
    assert out.min() >= 0 and out.max() < n and len(np.unique(out)) == 10_000


def test_permutation_looks_random():
    n, cells = 200_000, 16
    order = Permutation(n, (3, 1))(np.arange(n)) * cells // n
    counts = np.bincount(order[:-1] * cells + order[1:], minlength=cells**2)  # pairs of neighbours
    expected = (n - 1) / cells**2
    assert ((counts - expected) ** 2 / expected).sum() / (cells**2 - 1) < 1.4
    assert abs(np.corrcoef(order, np.arange(n))[0, 1]) < 0.01


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.integers(1, 6),
    st.integers(1, 20),
    st.sampled_from(["document", "many", "token"]),
    st.booleans(),
)
def test_batches_equal_the_naive_construction(lengths, context, batch_size, attributes, shuffle):
    c = corpus(lengths, attributes)
    expected, found = naive(c, context), {}
    for batch in WindowLoader(c, context, batch_size, seed=1, shuffle=shuffle):
        assert 1 <= len(batch) == len(batch.context) <= batch_size
        rows = zip(batch.target.tolist(), batch.context.tolist(), batch.attribute.tolist(), strict=True)
        found |= {target: (words, attribute) for target, words, attribute in rows}
    assert found == expected


def test_without_shuffling_the_text_runs_on():
    assert seen(WindowLoader(corpus([5, 0, 8]), 2, 4, seed=0, shuffle=False)) == list(range(10, 23))


def test_order_depends_on_seed_and_epoch_alone():
    c = corpus([50, 30, 20])
    a, b = (WindowLoader(c, 2, 16, seed=5) for _ in range(2))
    assert seen(a) == seen(b) == seen(a)
    b.set_epoch(1)
    assert seen(a) != seen(b) and sorted(seen(a)) == sorted(seen(b))
    assert seen(a) != seen(WindowLoader(c, 2, 16, seed=6))


@pytest.mark.parametrize("world_size", [2, 3, 5])
@pytest.mark.parametrize("n", [10, 16, 17, 33, 100])
@pytest.mark.parametrize("groups", [None, [0, 0, 1]])
def test_ranks_share_every_batch(n, world_size, groups):
    """Every example once over all ranks, as many batches on each, none empty, the batches those of one process."""
    c = corpus([n - 8, 3, 5])
    if groups and n < 16:  # a group smaller than the ranks is refused
        pytest.skip("too small to group")

    def batches(rank, world):
        loader = WindowLoader(c, 2, 10, seed=0, rank=rank, world_size=world, groups=groups)
        assert len(list(loader)) == len(loader)
        return list(loader)

    ranks = [batches(r, world_size) for r in range(world_size)]
    for parts, whole in zip(zip(*ranks, strict=True), batches(0, 1), strict=True):
        assert all(len(part) for part in parts)
        assert [t for part in parts for t in part.target.tolist()] == whole.target.tolist()
        assert [part.place[0] for part in parts] == np.cumsum([0, *map(len, parts[:-1])]).tolist()
        assert {part.place[1] for part in parts} == {len(whole)}
        assert [part.weight * len(whole) for part in parts] == pytest.approx([len(part) * world_size for part in parts])
    assert sorted(t for rank in ranks for part in rank for t in part.target.tolist()) == list(range(10, 10 + n))


def test_too_small_for_the_ranks_is_an_error():
    with pytest.raises(AtdError, match=r"1 examples cannot feed 4 processes.*batch_size"):
        WindowLoader(corpus([9]), 2, 2, seed=0, world_size=4)


def test_drop_last_makes_equal_batches():
    loader = WindowLoader(corpus([25]), 2, 10, seed=0, drop_last=True)
    assert [len(batch) for batch in loader] == [10, 10] and loader.examples == 20


def test_groups_are_apart_and_evenly_interleaved():
    c = corpus([30, 7, 60, 33])
    loader = WindowLoader(c, 3, 10, seed=2, groups=[4, 9, 4, 9])
    expected, groups = naive(c, 3), []
    for batch in loader:
        documents = np.searchsorted(c.offsets, batch.target.numpy() - 10, side="right") - 1
        assert set(documents) <= ({0, 2} if batch.language == 4 else {1, 3})
        assert batch.context.tolist() == [expected[t][0] for t in batch.target.tolist()]
        groups.append(batch.language)
    assert sorted(seen(loader)) == list(range(10, 140))
    assert groups.count(4) == 9 and groups.count(9) == 4
    assert all(groups[i : i + 4].count(9) >= 1 for i in range(len(groups) - 3))  # never far from the next of the rarer


@pytest.mark.parametrize("position", [0, 1, 6, 10])
def test_a_saved_position_resumes_exactly(position):
    c = corpus([60, 40])
    loader = WindowLoader(c, 2, 10, seed=0)
    loader.set_epoch(3)
    whole = [batch.target.tolist() for batch in loader]
    batches = iter(loader)
    assert [next(batches).target.tolist() for _ in range(position)] == whole[:position]
    state = loader.state_dict() if position else {**loader.state_dict(), "position": 0}

    other = WindowLoader(c, 2, 10, seed=0, rank=0, world_size=1)
    other.load_state_dict(state)
    batches = iter(other)  # Lightning makes the iterator first and names the epoch afterwards
    other.set_epoch(3)
    assert [batch.target.tolist() for batch in batches] == whole[position:]
    other.set_epoch(4)
    assert len(list(other)) == len(other) == 10


def test_a_position_of_another_epoch_is_forgotten():
    loader = WindowLoader(corpus([60, 40]), 2, 10, seed=0)
    loader.load_state_dict({**loader.state_dict(), "epoch": 2, "position": 10})  # saved at the end of epoch 2
    loader.set_epoch(3)
    assert len(list(loader)) == 10


def test_a_position_in_other_data_is_refused():
    state = WindowLoader(corpus([60, 40]), 2, 10, seed=0).state_dict()
    with pytest.raises(AtdError, match=r"batch_size=10, now it is 20"):
        WindowLoader(corpus([60, 40]), 2, 20, seed=0).load_state_dict(state)
