"""Dry friction of joints for given directions of slip: friction forces that are linear functions of the load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from linkwork.errors import ShapeError, unknown_name
from linkwork.model.batch_broadcasting import refuse_non_finite
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array


class LoopFriction(NamedTuple):
    """Friction in a loop joint: its wrench is `coupling` (6, 6) times the constraint wrench, plus `constant` (6,).

    The entries of `coupling` are friction coefficients, where needed times lengths [m]. The friction wrench and the
    constraint wrench [N, N m] act on the loop's second body at its loop frame, in the axes of this frame.
    """

    coupling: Array
    constant: Array


FRICTIONLESS = LoopFriction(np.zeros((6, 6)), np.zeros(6))


@dataclass(frozen=True)
class LinearFriction:
    """Dry friction of joints for given directions of slip: linear in the load, plus a constant.

    For each joint by name, `coupling` (d, 6) times the reaction wrench of the parent on the child, in the child's
    frame, is the friction forces [N m, N] along the d freedoms. The components of this wrench along the freedoms do not
    count as load: the wrenches r and r + T x give the same friction for any x (d,), with the directions T (6, d) of
    `actuator_directions`. `constant` (d,) [N m, N] by joint name is added to the friction forces. `loops` has the
    friction of loop joints by name. Joints and loops without an entry have no friction.
    """

    coupling: Mapping[str, Array] = field(default_factory=dict)
    constant: Mapping[str, Array] = field(default_factory=dict)
    loops: Mapping[str, LoopFriction] = field(default_factory=dict)

    def of(self, name: str, freedoms: int) -> tuple[Array, Array]:
        """Return the friction coefficients (d, 6) and the constant friction (d,) [N m, N] of the joint `name`.

        The joint has d freedoms, given as `freedoms`. The coefficients are those of `coupling`; see the class.
        """
        coupling = self.coupling.get(name, np.zeros((freedoms, 6)))
        constant = self.constant.get(name, np.zeros(freedoms))
        return (
            _checked(f"friction coupling of joint {name!r}", coupling, (freedoms, 6)),
            _checked(f"constant friction of joint {name!r}", constant, (freedoms,)),
        )

    def of_loop(self, name: str) -> LoopFriction:
        """Return the friction of the loop joint called `name`."""
        coupling, constant = self.loops.get(name, FRICTIONLESS)
        return LoopFriction(
            _checked(f"friction coupling of loop {name!r}", coupling, (6, 6)),
            _checked(f"constant friction of loop {name!r}", constant, (6,)),
        )

    @property
    def depends_on_load(self) -> bool:
        """Whether any friction coefficient (`coupling`) of a joint or loop is not zero."""
        loops = [one.coupling for one in self.loops.values()]
        return any(np.any(coupling) for coupling in (*self.coupling.values(), *loops))

    def require_names(self, mechanism: Mechanism) -> None:
        """Raise a NameNotFound error unless the mechanism has all joints and loops to which this friction is given."""
        _require("joint", [*self.coupling, *self.constant], mechanism.joints.names)
        _require("loop", self.loops, [one.name for one in mechanism.frame_constraints])


NO_FRICTION = LinearFriction()


def _checked(what: str, array: Array, shape: tuple[int, ...]) -> Array:
    """Return `array` as floats; raise an error that calls it `what` if its shape is not `shape` or it is not finite."""
    found = np.asarray(array, dtype=float)
    if found.shape != shape:
        raise ShapeError(f"the {what} has shape {found.shape}, expected {shape}")
    refuse_non_finite(f"the {what}", found)
    return found


def _require(what: str, named: Iterable[str], known: Iterable[str]) -> None:
    """Raise a NameNotFound error if a name in `named` is not in `known`; `what` says which things have these names."""
    for name in named:
        if name not in known:
            raise unknown_name(what, name, known)
