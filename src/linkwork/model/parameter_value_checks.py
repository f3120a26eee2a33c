"""Parameters (named numbers of a mechanism that can vary) and the rules for their valid values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.batch_broadcasting import refuse_non_finite
from linkwork.spatial.scalar import Array, Number

FADING_SPEED = 1e-3  # [rad/s or m/s] speed at which regularized dry friction and gear losses have 0.7 of their force


class Rule(NamedTuple):
    """A rule that values of a parameter must satisfy, such as "positive".

    `holds` returns True for each value that satisfies the rule, and `says` returns the message for values that violate
    it.
    """

    holds: Callable[[Array], Array]
    says: Callable[[Array], str]


Rules = tuple[Rule, ...]
FINITE: Rules = ()
NOT_NEGATIVE: Rules = (Rule(lambda x: x >= 0.0, lambda x: f"must be >= 0; got {x.min():g}"),)
POSITIVE: Rules = (Rule(lambda x: x > 0.0, lambda x: f"must be > 0; got {x.min():g}"),)
NOT_ZERO: Rules = (Rule(lambda x: x != 0.0, lambda x: "must not be 0"),)
AT_MOST_ONE: Rules = (Rule(lambda x: x <= 1.0, lambda x: f"must be <= 1; got {x.max():g}"),)
FRACTION: Rules = (*POSITIVE, Rule(lambda x: x <= 1.0, lambda x: f"must be at most 1; got {x.max():g}"))
SWITCH: Rules = (Rule(lambda x: np.isin(x, (0.0, 1.0)), lambda x: "must be 1 (engaged) or 0 (released)"),)
SIGN: Rules = (Rule(lambda x: np.abs(x) == 1.0, lambda x: "must be 1 or -1"),)

BODY_PARAMETERS: Mapping[str, Rules] = {"mass": NOT_NEGATIVE, "com": FINITE, "inertia": FINITE}
JOINT_PARAMETERS: Mapping[str, Rules] = {
    "at": FINITE, "armature": NOT_NEGATIVE, "damping": NOT_NEGATIVE, "stiffness": NOT_NEGATIVE, "friction": NOT_NEGATIVE
}  # fmt: skip


def is_traced(value: Number | Array) -> bool:
    """Return whether `value`, a number or array, is traced by the compiler, so that its values are unknown."""
    return np.asarray(value).dtype == object


def as_number(value: Number) -> Array:
    """Return `value`, a number or bool, as an array of shape (); a traced number stays unchanged."""
    return np.asarray(float(value) if isinstance(value, (bool, int)) else value)


def check_values(name: str, values: Array, rules: Rules) -> None:
    """Raise an error unless all `values` of the parameter `name` are finite and satisfy the rules.

    `values` is one value or a batch.
    """
    refuse_non_finite(f"parameter {name!r}", values)
    for rule in () if is_traced(values) else rules:
        if not rule.holds(values).all():
            raise ModelError(rule.says(values), f"parameter {name!r}")
