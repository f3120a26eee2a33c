"""Random numbers match Random123 to the bit, on floats and in every kernel lane, and pass statistical tests."""

from typing import Any, cast

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.automatic_differentiation import pushforward
from linkwork.compiler.graph import Count, fused, verify
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.targets.cpu import cpu_target
from linkwork.compiler.traced_array import lifted
from linkwork.compiler.traced_loops import Rows
from linkwork.compiler.tracing import trace
from linkwork.spatial.random_numbers import philox, uniform, uniforms
from linkwork.spatial.scalar import Array
from linkwork.spatial.traceable_loops import record

LAST = 2.0**53 - 1.0

# Random123, kat_vectors, philox4x32-10: counter, key, words
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_blocks_match_the_published_vectors(counter: str, key: str, expected: str) -> None:
    assert list(philox(words(counter), words(key))) == words(expected)
    many = [np.array([word] * 3, dtype=np.uint64) for word in words(counter)]
    assert [list(row) for row in philox(many, [np.uint64(word) for word in words(key)])] == [
        [word] * 3 for word in words(expected)
    ]


def test_uniform_numbers_use_the_upper_53_bits_of_two_words() -> None:
    a, b, c, d = words(KNOWN[0][2])
    assert uniforms(0, 0).tolist() == [(((b << 32) + a) >> 11) * 2.0**-53, (((d << 32) + c) >> 11) * 2.0**-53]
    seed, counter, stream = 0x123456789ABCD, 0x1FEDCBA9876543, 0x89ABCDEF
    block = philox((counter & 0xFFFFFFFF, counter >> 32, stream, 2), (seed & 0xFFFFFFFF, seed >> 32))
    assert uniforms(seed, counter, stream, 3)[4] == (((block[1] << 32) + block[0]) >> 11) * 2.0**-53


# --- in kernels ---


def drawn(seed: Any, counter: Any, stream: Any) -> Array:
    return uniforms(seed, counter, stream, 2)


def arguments(count: int) -> list[Array]:
    rng = np.random.default_rng(count)
    seed, counter = rng.integers(0, 2**53, size=(2, count)).astype(float)
    stream = rng.integers(0, 2**32, size=count).astype(float)
    corners = [0.0, 1.0, 2.0**32 - 1.0, 2.0**32, 2.0**52, LAST]
    for k, corner in enumerate(corners[:count]):
        seed[k], counter[-1 - k] = corner, corner
        stream[k] = min(corner, 2.0**32 - 1.0)
    return [seed, counter, stream]


DRAWN = Kernel("drawn", drawn, [(), (), ()], [(4,)], key="drawn uniforms")


@pytest.mark.parametrize("count", [1, 3, 4, 50])
def test_random_numbers_of_kernels_have_the_same_bits_in_every_lane_and_alone(count: int) -> None:
    given = arguments(count)
    (found,), finite = DRAWN.over_batch(given, (count,), 1)
    assert finite
    expected = np.array([drawn(*(column[k] for column in given)) for k in range(count)])
    assert (found == expected).all()
    for k in range(0, count, 7):
        assert (DRAWN.over_batch([column[k] for column in given], (), 1)[0][0] == expected[k]).all()


@pytest.mark.parametrize("width", [2, 4, 8])
def test_random_numbers_of_kernels_have_the_same_bits_at_every_vector_width(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = cpu_target.processor()._replace(width=width)
    monkeypatch.setattr(cpu_target, "processor", lambda: other)
    kernel = Kernel("drawn", drawn, [(), (), ()], [(4,)], key="drawn uniforms at any width")
    given = arguments(20)
    (found,), _ = kernel.over_batch(given, (20,), 1)
    assert (found == np.array([drawn(*row) for row in zip(*given, strict=True)])).all()


def test_invalid_seeds_give_nan_in_their_lane_only() -> None:
    seed = np.array([1.0, -1.0, 0.5, 2.0**53, np.nan, np.inf, 7.0])
    (found,), finite = DRAWN.over_batch([seed, np.array(3.0), np.array(0.0)], (7,), 1)
    assert not finite
    assert np.isnan(found[1:6]).all()
    assert (found[0] == drawn(1, 3, 0)).all()
    assert (found[6] == drawn(7, 3, 0)).all()


def test_normal_numbers_in_a_kernel_match_to_round_off() -> None:
    given = arguments(30)
    kernel = Kernel("normals", lambda s, c, k: lw.random_normal(s, c, 5, k), [(), (), ()], [(5,)], key="drawn normals")
    (found,), _ = kernel.over_batch(given, (30,), 1)
    expected = np.array([lw.random_normal(s, c, 5, k) for s, c, k in zip(*given, strict=True)])
    assert np.abs(found - expected).max() < 1e-14


def test_random_disturbance_of_a_run_can_be_computed_again_without_the_run() -> None:
    """A random walk with a seed per member: the noise of step 17 is known without the walk."""
    steps = Count(0)

    def walk(seed: Any, count: Any) -> tuple[Any, Any]:
        def step(k: Any, x: Array) -> tuple[Any, Any]:
            pushed = np.clip(lw.white_noise(seed, 0.01 * k, 50.0, 2, density=0.1), -3.0, 3.0)
            return (x + 0.01 * pushed,), (pushed,)

        (last,), (pushes,) = record(count, step, np.zeros(2))
        return last, pushes

    kernel = Kernel("walk", lifted(walk), [()], [(2,), Rows(steps, (2,))], key="random walk", counts=1)
    (last, pushes), _ = kernel.over_batch([np.arange(9.0)], (9,), 1, counts=(20,))
    for seed in range(9):
        expected = walk(float(seed), 20)
        assert np.abs(last[seed] - expected[0]).max() < 1e-14
        assert np.abs(pushes[seed, 17] - np.clip(np.sqrt(5.0) * lw.random_normal(seed, 8, 2), -3, 3)).max() < 1e-13


def test_random_numbers_in_graphs_are_shared_and_folded_and_have_zero_derivative() -> None:
    graph = trace(lambda x: uniforms(x[0], x[1]) + uniforms(x[0], x[1])[::-1], [(2,)])
    verify(fused(graph))
    assert [node[0] for node in graph.nodes if str(node[0]).startswith("uniform")] == ["uniform", "uniform_second"]
    known = trace(lambda x: uniforms(3.0 + 0.0 * x[0], x[0] - x[0]), [(1,)])
    assert [known.value(k) for k in known.outputs] == uniforms(3, 0).tolist()
    zero = trace(lambda x: pushforward(uniforms(x[0], x[1]), x, np.eye(2)), [(2,)])
    assert [zero.value(k) for k in zero.outputs] == [0.0] * 4


# --- statistics, with fixed seeds: each would fail by chance once in 10,000 seeds or less ---

COUNT = 40_000


def samples() -> Array:
    """Uniform numbers (4, COUNT): of one block, the next, and another stream at successive counters of one seed."""
    kernel = Kernel(
        "samples",
        lambda c: np.concatenate([uniforms(11.0, c), [uniforms(11.0, c, 0.0, 2)[2], uniform(11.0, c, 1.0)]]),
        [()],
        [(4,)],
        key="samples of uniforms",
    )
    (found,), _ = kernel.over_batch([np.arange(float(COUNT))], (COUNT,), 1)
    return found.T


def test_uniform_numbers_are_uniform_and_independent() -> None:
    u = samples()
    assert (u > 0.0).all()
    assert (u < 1.0).all()
    expected = np.arange(1, COUNT + 1) / COUNT
    for row in u:
        assert np.abs(np.sort(row) - expected).max() < 2.23 / np.sqrt(COUNT)  # Kolmogorov: 1 in 10,000
    rows = np.concatenate([u, np.roll(u, 1, axis=1), np.roll(u, 2, axis=1)]) - 0.5
    correlation = np.corrcoef(rows) - np.eye(len(rows))
    assert np.abs(correlation).max() < 5.0 / np.sqrt(COUNT)
    assert np.abs((u * 2.0**53).astype(np.int64)[:, :, None] >> np.arange(53) & 1).mean(axis=1) == pytest.approx(
        0.5, abs=2.5 / np.sqrt(COUNT)
    )  # every one of the 53 bits


def test_neighbouring_seeds_are_independent() -> None:
    kernel = Kernel("seeds", lambda s: uniforms(s, 5.0), [()], [(2,)], key="uniforms of seeds")
    (u,), _ = kernel.over_batch([np.arange(float(COUNT))], (COUNT,), 1)
    rows = np.concatenate([u.T, np.roll(u, 1, axis=0).T])
    assert np.abs(np.corrcoef(rows) - np.eye(4)).max() < 5.0 / np.sqrt(COUNT)
    assert np.abs(np.sort(u[:, 0]) - np.arange(1, COUNT + 1) / COUNT).max() < 2.23 / np.sqrt(COUNT)


def test_normal_numbers_are_normal_and_independent() -> None:
    kernel = Kernel("normal", lambda c: lw.random_normal(2.0, c, 3), [()], [(3,)], key="samples of normals")
    (x,), _ = kernel.over_batch([np.arange(float(COUNT))], (COUNT,), 1)
    spread = 4.0 / np.sqrt(COUNT)
    for k, moment in enumerate((0.0, 1.0, 0.0, 3.0), start=1):  # of order k, which itself varies by the order 2 k
        deviation = np.sqrt((1.0, 2.0, 15.0, 96.0)[k - 1])
        assert np.abs((x**k).mean(axis=0) - moment).max() < spread * deviation
    covariance = x.T @ x / COUNT
    assert np.abs(covariance - np.eye(3)).max() < spread * np.sqrt(2.0)
    from scipy.stats import norm

    for column in x.T:
        assert np.abs(np.sort(norm.cdf(column)) - np.arange(1, COUNT + 1) / COUNT).max() < 2.23 / np.sqrt(COUNT)


# --- white noise ---


def test_white_noise_is_constant_between_samples() -> None:
    for k in range(200):
        expected = 3.0 * np.sqrt(100.0) * lw.random_normal(4, k, 3)
        for t in (k * 0.01, k * 0.01 + 0.0099):
            assert np.abs(lw.white_noise(4, t, 100.0, 3, density=9.0) - expected).max() < 1e-12


def test_traced_density_of_zero_gives_no_noise() -> None:
    function = lifted(lambda x: lw.white_noise(3, 0.5, x[0], 2, density=x[1:]))
    kernel = Kernel("densities", function, [(3,)], [(2,)], key="traced densities")
    ((found,), _) = kernel.over_batch([np.array([100.0, 0.0, 4.0])], (), 1)
    assert found[0] == 0.0
    assert abs(found[1] - lw.white_noise(3, 0.5, 100.0, 2, density=4.0)[1]) < 1e-13


@pytest.mark.parametrize("rate", [20.0, 200.0])
def test_variance_of_integrated_white_noise_grows_by_its_density_at_any_rate(rate: float) -> None:
    density, duration, members = np.array([0.5, 2.0]), 2.0, 4000
    count = int(duration * rate)

    def integral(seed: Any) -> Any:
        return sum(lw.white_noise(seed, k / rate, rate, 2, density) for k in range(count)) / rate

    kernel = Kernel("integral", lifted(integral), [()], [(2,)], key=f"integral of noise {rate}")
    (found,), _ = kernel.over_batch([np.arange(float(members))], (members,), 1)
    variance = (found**2).mean(axis=0)
    assert np.abs(variance / (density * duration) - 1.0).max() < 4.0 * np.sqrt(2.0 / members)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: lw.random_normal(-1, 0, 2), "seed must be a whole number of at least 0 and below 2\\^53; got -1"),
        (lambda: lw.random_normal(1, 0.5, 2), "counter must be a whole number"),
        (lambda: lw.random_normal(1, 2**53, 2), "counter must be"),
        (lambda: lw.random_normal("one", 0, 2), "seed must be"),
        (
            lambda: lw.random_normal(1, 0, 2, stream=2**32),
            "stream must be a whole number of at least 0 and below 2\\^32",
        ),
        (lambda: lw.random_normal(1, 0, cast(Any, 2.5)), "size must be a whole number"),
        (lambda: lw.random_normal(1, 0, -2), "size must be a whole number"),
        (lambda: lw.white_noise(1, 0.0, 0.0, 2), "rate must be above 0"),
        (lambda: lw.white_noise(1, 0.0, 10.0, 2, density=-1.0), "density must be at least 0"),
        (lambda: trace(lambda t: lw.white_noise(-1, t[0], 10.0, 2), [(1,)]), "seed must be a whole number"),
    ],
)
def test_invalid_random_arguments_are_rejected(call: Any, says: str) -> None:
    with pytest.raises(lw.LinkworkError, match=says):
        call()
