"""Steps and durations that error messages propose, with enough digits that a run accepts them."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from linkwork.simulation.methods.method_tolerances import WHOLE_STEPS

MOST_PARTS = 10_000  # largest number of steps in the period of a sampled controller


def is_whole(duration: float, dt: float) -> bool:
    """Return whether `duration` [s] is a whole number of steps dt [s], at least one, up to the relative tolerance
    WHOLE_STEPS.
    """
    return abs(max(1, round(duration / dt)) * dt - duration) <= WHOLE_STEPS * duration


def in_few_digits(value: float, accepted: Callable[[float], bool]) -> str:
    """Return `value` as a text with as few digits as possible, but six or more, for whose number `accepted` returns
    True.
    """
    texts = (f"{value:.{digits}g}" for digits in range(6, 18))
    return next((text for text in texts if accepted(float(text))), repr(value))


def common_step(duration: float, period: float) -> float:
    """Return the longest step of which both `duration` and `period` [s] are whole multiples.

    If no such step is at least period / MOST_PARTS long, the result divides only the period.
    """
    from fractions import Fraction  # here: only sampled controllers need it

    return period / Fraction(duration / period).limit_denominator(MOST_PARTS).denominator


def proposed_step(duration: float, dt: float, rate: float | None) -> str:
    """Return, as a text, the longest step of at most dt [s] that divides both `duration` [s] and the period 1 / `rate`.

    `rate` [1/s] is that of a sampled controller, or None. The text is "" if no such step exists.
    """
    spans = (duration,) if rate is None else (duration, 1.0 / rate)
    longest = duration if rate is None else common_step(duration, 1.0 / rate)
    step = longest / ceil(longest / dt * (1.0 - WHOLE_STEPS))
    text = in_few_digits(step, lambda one: all(is_whole(span, one) for span in spans))
    return text if all(is_whole(span, float(text)) for span in spans) else ""
