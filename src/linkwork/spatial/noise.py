"""Random numbers that are functions of a seed and a counter: whoever knows both has the number, without those before.

The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011;
Random123). Its four counter words are the counter, low and high, the stream, and the number of a block; its key is the
seed, low and high. On floats and in kernels `uniforms` gives the same bits.
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
LARGEST = 2.0**53  # seeds and counters are below: whole numbers that a double holds
STREAMS = 2.0**32
EARLY = 1e-6  # how much of a sample's time a rounded instant may come before it and still belong to it


def philox(counter: Sequence[Any], key: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """The four random words of a block, from four counter words and two of the key; words are below 2^32.

    A word is anything with the operators of whole numbers: this is also the text that kernels are made from.
    """
    (a, b, c, d), (k, l) = counter, key
    for _ in range(ROUNDS):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = (second >> 32) ^ b ^ k, second & WORD, (first >> 32) ^ d ^ l, first & WORD
        k, l = (k + KEY_STEPS[0]) & WORD, (l + KEY_STEPS[1]) & WORD
    return a, b, c, d


def uniforms(seed: Number, counter: Number, stream: Number = 0.0, blocks: int = 1) -> Array:
    """Independent numbers (2 blocks,), uniform between 0 and 1 exclusive, with 53 random bits each.

    A number that is being traced has a method `uniforms`, called here. If it turns out to be no whole number between 0
    and 2^53, the kernel gives what is not a number.
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


def pair(seed: float, counter: float, place: float) -> tuple[float, float]:
    """The two uniform numbers of one block; its place is the stream and 2^32 times the number of the block."""
    a, b, c, d = philox((*_words(counter), *_words(place)), _words(seed))
    return _uniform(a, b), _uniform(c, d)


def _uniform(low: int, high: int) -> float:
    """The upper 53 of 64 bits as a multiple of 2^-53; zero becomes half of one."""
    return max((high << 21) + (low >> 11), 0.5) * 2.0**-53


def _words(number: float) -> tuple[int, int]:
    """A whole number below 2^53 as two words, low before high."""
    if not _is_whole(number):
        raise ValueError(number)
    return int(number) & WORD, int(number) >> 32


def _is_whole(number: Any) -> bool:
    return isinstance(number, Real) and 0.0 <= float(number) < LARGEST and float(number).is_integer()


def uniform(seed: Number, counter: Number, stream: Number = 0.0) -> Number:
    """A number between 0 and 1 exclusive, with 53 random bits: the first of its block."""
    return uniforms(seed, counter, stream)[0]


def normal(seed: Number, counter: Number, size: int, stream: Number = 0.0) -> Array:
    """Independent standard normal numbers (size,), by Box and Muller: two from each block of two uniform ones.

    `seed` and `counter` are whole numbers below 2^53, `stream` one below 2^32; equal ones give equal numbers. What must
    be independent at one counter takes streams of its own. They may be numbers that are being traced.
    """
    if not (isinstance(size, int) and size >= 0):
        raise LinkworkError(f"size must be a whole number of at least 0; got {size!r:.60}")
    u = uniforms(seed, counter, stream, (size + 1) // 2).reshape(-1, 2)
    radius, angle = np.sqrt(-2.0 * np.log(u[:, 0])), 2.0 * np.pi * u[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:size]


def white_noise(seed: Number, t: Number, rate: Number, size: int, density: Any = 1.0, stream: Number = 0.0) -> Array:
    """White noise (size,) at time t [s], from 0 on: normal numbers that are held for 1 / rate seconds [Hz] each.

    `density`, a number or (size,), is the two-sided spectral density [unit^2/Hz] below about rate / 2; the variance is
    density rate, so that the integral over a time T has the variance density T, whatever the rate. At the k-th sample
    the noise is sqrt(density rate) normal(seed, k, size, stream).
    """
    for name, number, least in (("rate", rate, 5e-324), ("density", density, 0.0)):
        array = np.asarray(number)
        if array.dtype != object and not (array >= least).all():  # objects are being traced
            raise LinkworkError(f"{name} must be {'above' if least else 'at least'} 0; got {number!r:.60}")
    sample = np.floor(t * rate + EARLY)  # instants such as 57 steps of 0.01 s are rounded
    return np.sqrt(density * rate) * normal(seed, sample, size, stream)
