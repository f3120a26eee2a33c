"""Counter-based pseudo-random numbers: each number is a function of a seed and a counter, without hidden state.

The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011;
Random123). Its four counter words are the counter (low, high), the stream and the block number; its key is the seed
(low, high). `uniforms` returns the same bits for floats and in kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.spatial.scalar import Array, Number

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
WORD = 0xFFFFFFFF
LARGEST = 2.0**53  # seeds and counters are integers below this limit, which a double represents exactly
STREAMS = 2.0**32
# A time that is before the beginning of a sample interval by less than this fraction of the interval, due to round-off,
# belongs to this interval
EARLY = 1e-6


def philox(counter: Sequence[Any], key: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Return the four random words of a Philox block, from four counter words and two key words, all below 2^32.

    A word is any object with integer operators: the compiler calls this function to emit the kernel code.
    """
    (a, b, c, d), (k, l) = counter, key
    for _ in range(ROUNDS):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = (second >> 32) ^ b ^ k, second & WORD, (first >> 32) ^ d ^ l, first & WORD
        k, l = (k + KEY_STEPS[0]) & WORD, (l + KEY_STEPS[1]) & WORD
    return a, b, c, d


def uniforms(seed: Number, counter: Number, stream: Number = 0.0, blocks: int = 1) -> Array:
    """Return independent random numbers (2 blocks,), uniform in the open interval (0, 1), with 53 random bits each.

    `seed`, `counter` and `stream` select the numbers: equal arguments give equal numbers. `blocks` is the number of
    Philox blocks, each of which gives two numbers. If an argument is traced, the method `uniforms` of this argument is
    called. If a traced argument is not an integer in 0 ... 2^53 - 1 when the kernel runs, the kernel returns NaN.
    """
    limits = {"seed": (seed, LARGEST), "counter": (counter, LARGEST), "stream": (stream, STREAMS)}
    for name, (number, limit) in limits.items():
        if not (hasattr(number, "uniforms") or (_is_whole(number) and number < limit)):
            expected = f"a whole number of at least 0 and below 2^{math.log2(limit):.0f}"
            raise LinkworkError(f"{name} must be {expected}; got {number!r:.60}")
    for number, _ in limits.values():
        if hasattr(number, "uniforms"):
            return number.uniforms(seed, counter, stream, blocks)
    return np.array([u for block in range(blocks) for u in pair(seed, counter, stream + block * STREAMS)])


def pair(seed: float, counter: float, stream_and_block: float) -> tuple[float, float]:
    """Return the two uniform random numbers of one Philox block.

    See `uniforms` for `seed` and `counter`. `stream_and_block` is the number stream + 2^32 * block, which contains the
    stream and the block number.
    """
    a, b, c, d = philox((*_words(counter), *_words(stream_and_block)), _words(seed))
    return _uniform(a, b), _uniform(c, d)


def _uniform(low: int, high: int) -> float:
    """Return the upper 53 bits of the two 32-bit words `high`, `low` as a number in (0, 1), a multiple of 2^-53.

    Zero is replaced by 2^-54.
    """
    return max((high << 21) + (low >> 11), 0.5) * 2.0**-53


def _words(number: float) -> tuple[int, int]:
    """Return the integer `number`, below 2^53, as two 32-bit words, low word first."""
    if not _is_whole(number):
        raise ValueError(number)
    return int(number) & WORD, int(number) >> 32


def _is_whole(number: Any) -> bool:
    """Return whether a number is an integer in 0 ... 2^53 - 1."""
    return isinstance(number, Real) and 0.0 <= float(number) < LARGEST and float(number).is_integer()


def uniform(seed: Number, counter: Number, stream: Number = 0.0) -> Number:
    """Return a random number, uniform in the open interval (0, 1), with 53 random bits.

    It is the first number of a block; `seed`, `counter` and `stream` select the block (see `uniforms`).
    """
    return uniforms(seed, counter, stream)[0]


def random_normal(seed: Number, counter: Number, size: int, stream: Number = 0.0) -> Array:
    """Return independent standard normal pseudo-random numbers for a seed and a counter.

    There is no hidden state: equal arguments give equal numbers. Uses Philox4x32-10 and the Box-Muller transform.

    Parameters
    ----------
    seed : int, or a number in a compiled function
        Seed, an integer in 0 ... 2^53 - 1.
    counter : int, or a number in a compiled function
        Number of the sample, an integer in 0 ... 2^53 - 1, for example the number of a control period.
    size : int
        How many numbers to return, at least 0.
    stream : int, or a number in a compiled function, default 0
        Stream, an integer in 0 ... 2^32 - 1. Use different streams for quantities that must be independent at the same
        counter.

    Returns
    -------
    ndarray, shape (size,)
        Independent numbers with mean 0 and variance 1.

    Raises
    ------
    LinkworkError
        If an argument is not an integer in its range. Numbers that a compiled function computes during a run, such as a
        controller of `lw.simulate`, cannot raise it: invalid ones give nan.

    Examples
    --------
    >>> lw.random_normal(7, 3, 2).round(4)
    array([1.069 , 1.2762])
    >>> bool((lw.random_normal(7, 3, 2) == lw.random_normal(7, 3, 2)).all())
    True

    """
    if not (isinstance(size, int) and size >= 0):
        raise LinkworkError(f"size must be a whole number of at least 0; got {size!r:.60}")
    u = uniforms(seed, counter, stream, (size + 1) // 2).reshape(-1, 2)
    radius, angle = np.sqrt(-2.0 * np.log(u[:, 0])), 2.0 * np.pi * u[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:size]


def white_noise(seed: Number, t: Number, rate: Number, size: int, density: Any = 1.0, stream: Number = 0.0) -> Array:
    """Return band-limited white noise: piecewise constant, a new normal sample every 1 / rate seconds.

    Sample k, from k / rate to (k + 1) / rate, is sqrt(density * rate) * random_normal(seed, k, size, stream).
    Its variance is density * rate, so the integral over a time T has the variance density * T at any rate.

    Parameters
    ----------
    seed : int, or a number in a compiled function
        Seed, an integer in 0 ... 2^53 - 1.
    t : float, or a number in a compiled function, unit [s]
        Time, at least 0.
    rate : float, or a number in a compiled function, unit [Hz]
        Sample rate, above 0. The spectrum is flat up to about rate / 2.
    size : int
        Number of independent components.
    density : float or array, shape (size,), unit [unit^2/Hz], default 1.0
        Two-sided power spectral density of each component.
    stream : int, or a number in a compiled function, default 0
        Stream, an integer in 0 ... 2^32 - 1. Noises with different streams are independent.

    Returns
    -------
    ndarray, shape (size,)
        The noise at time t.

    Raises
    ------
    LinkworkError
        If `rate` is not above 0, `density` is negative, or an argument is not an integer where one is required. Numbers
        that a compiled function computes during a run, such as a controller of `lw.simulate`, cannot raise it: invalid
        ones give nan (a rate of 0 gives 0).

    Examples
    --------
    >>> early, late = (lw.white_noise(seed=7, t=t, rate=100.0, size=3, density=0.04) for t in (0.251, 0.259))
    >>> bool((early == late).all())  # both times are in the sample from 0.25 s to 0.26 s
    True
    >>> bool(np.allclose(early, 2.0 * lw.random_normal(7, 25, 3)))
    True

    """
    for name, number, least in (("rate", rate, 5e-324), ("density", density, 0.0)):
        array = np.asarray(number)
        if array.dtype != object and not (array >= least).all():  # arrays of objects have traced numbers
            raise LinkworkError(f"{name} must be {'above' if least else 'at least'} 0; got {number!r:.60}")
    sample = np.floor(t * rate + EARLY)  # round-off: 57 steps of 0.01 s may be slightly below 0.57 s
    return np.sqrt(density * rate) * random_normal(seed, sample, size, stream)
