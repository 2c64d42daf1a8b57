import math

import numpy as np
import torch

from atd.lm import MultiplicativeLM
from atd.neighbours import Space, attribute_shift, compare, neighbours, rank_shift, unit

V, K, D, F, N, A = 300, 12, 6, 10, 2, 5


def vectors(seed=0):
    return torch.randn(V, K, generator=torch.Generator().manual_seed(seed))


def model():
    torch.manual_seed(0)
    return MultiplicativeLM(V, K, D, F, N, A).eval()


def brute(vectors_VK, query_K, exclude):
    """Cosines by the definition, one word at a time, in double precision."""
    rows = vectors_VK.double().numpy()
    q = query_K.double().numpy()
    cosine = [float(np.dot(r, q) / math.sqrt(np.dot(r, r)) / math.sqrt(np.dot(q, q))) for r in rows]
    order = sorted((w for w in range(len(rows)) if w not in exclude), key=lambda w: -cosine[w])
    return order, cosine


def test_neighbours_equal_brute_force():
    matrix = vectors()
    cases = ((7, matrix[7], {7}), ([7, 9], matrix[7] + matrix[9], {7, 9}), (matrix[3] * 5, matrix[3], set()))
    for query, vector, exclude in cases:
        order, cosine = brute(matrix, vector, exclude)
        ids, values = neighbours(matrix, query, k=15)
        assert ids.tolist() == order[:15]
        np.testing.assert_allclose(values, [cosine[w] for w in order[:15]], atol=1e-5)


def test_unit_rows_and_exclusions():
    matrix = unit(vectors())
    ids, _ = neighbours(matrix, 7, k=V, exclude=[7, 0, 1], is_unit=True)
    assert len(ids) == V - 3 and not {7, 0, 1} & set(ids.tolist())
    assert neighbours(matrix, 7, exclude=[], is_unit=True)[0][0] == 7


def test_a_space_answers_as_one_query_at_a_time():
    matrix = vectors()
    matrix[100:103] = matrix[7]
    space = Space(matrix)
    words = [7, 9, 101]
    ids, values = space.of_words(words, 15)
    for row, word in enumerate(words):
        expected = neighbours(matrix, word, 15)
        assert torch.equal(ids[row], expected[0])
        torch.testing.assert_close(values[row], expected[1])
    assert ids[0, :3].tolist() == [100, 101, 102] and ids[2, :3].tolist() == [7, 100, 102]
    ids, _ = space.of_vectors(matrix[7:9] * 3, 5, exclude=[0, 7, 101])
    for row in (0, 1):
        assert torch.equal(ids[row], neighbours(matrix, matrix[7 + row], 5, exclude=[0, 7, 101])[0])
    assert space.of_words(words, V)[0].shape == (3, V - 1)
    assert neighbours(matrix, 7, 5, exclude=range(V))[0].shape == (0,)
    assert space.of_vectors(matrix[:2], 5, exclude=range(V))[0].shape == (2, 0)
    assert space.of_words(torch.tensor([101]), 1)[0].tolist() == [[7]]  # three others are as near as itself


def test_compare_splits_the_two_lists():
    m = model()
    x_a, x_b = torch.rand(D), torch.rand(D)
    with torch.no_grad():
        order_a, _ = brute(m.conditional(x_a), m.conditional(x_a)[5], {5, 0})
        order_b, _ = brute(m.conditional(x_b), m.conditional(x_b)[5], {5, 0})
    out = compare(m, 5, x_a, x_b, k=15, exclude=[0])
    assert out.near_a == order_a[:15] and out.near_b == order_b[:15]
    assert set(out.common) == set(order_a[:15]) & set(order_b[:15])
    assert out.unique_a == [w for w in order_a[:15] if w not in order_b[:15]]
    assert out.unique_b == [w for w in order_b[:15] if w not in order_a[:15]]
    assert out.rank_in_b == [order_b.index(w) + 1 for w in out.near_a]
    assert out.rank_in_a == [order_a.index(w) + 1 for w in out.near_b]
    assert compare(m, [5, 6], x_a, x_a).unique_a == []


def test_rank_shift_by_hand():
    a, b = vectors(1), vectors(2)
    a[20:] = b[20:] = vectors(3)[20:]
    words = torch.arange(V)
    shift = rank_shift(unit(a), unit(b), words, k=4)
    for w in (0, 50):
        order_a, order_b = brute(a, a[w], {w})[0], brute(b, b[w], {w})[0]
        down = [order_b.index(n) + 1 for n in order_a[:4]] + [order_a.index(n) + 1 for n in order_b[:4]]
        assert math.isclose(float(shift[w]), np.mean([math.log(max(d / 4, 1)) for d in down]), abs_tol=1e-5)
    assert shift[:20].mean() > 2 * shift[20:].mean()
    assert rank_shift(unit(a), unit(a), words).abs().max() == 0


def test_attribute_shift_is_zero_for_the_reference():
    m = model()
    x_AD = torch.rand(A, D)
    with torch.no_grad():
        shift = attribute_shift(m, 9, x_AD, x_AD[2])
    assert shift[2] == 0 and (shift[[0, 1, 3, 4]] > 0).all()


def test_a_vocabulary_smaller_than_k_has_fewer_neighbours():
    torch.manual_seed(0)
    model = MultiplicativeLM(8, 4, 3, 4, 2, 2)
    x = model.vectors().detach()
    near = compare(model, 5, x[0], x[1], k=15, exclude=range(3))
    assert len(near.near_a) == len(near.near_b) == 4 and 5 not in near.near_a
    vectors = torch.nn.functional.normalize(torch.randn(8, 4), dim=1)
    assert rank_shift(vectors, vectors, torch.arange(8)).eq(0).all()
