"""Friction by the joint coupling matrix of Muir and Neuman (S1 section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.model.builder_argument_checks import numbers_of
from linkwork.model.constraint_rows import perpendicular
from linkwork.model.elements.element_key_definition import Kind, key
from linkwork.model.elements.key_types import not_negative
from linkwork.model.friction.friction_law import (
    NO_CONSTANT,
    Coefficient,
    FrictionLaw,
    FrictionLimit,
    LoadTerm,
    neutral_subspace,
    of_wrench,
    viscous_key,
)
from linkwork.model.geometry import Rows
from linkwork.model.joint_kind_interface import AxisKind
from linkwork.model.joints import ClosingKind
from linkwork.model.model_tolerances import PARALLEL
from linkwork.spatial import Motion
from linkwork.spatial.scalar import Array

COMPONENTS = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


class _Matrix(Kind):
    """The kind of a field whose value is a matrix (6, 6), stored as a tuple of rows."""

    def checked(self, value: Any, key: str, element: str) -> tuple[tuple[float, ...], ...]:
        return tuple(map(tuple, numbers_of(value, (6, 6), key, element).tolist()))


_MATRIX = _Matrix(list, "6 rows of 6 numbers")


@dataclass(frozen=True)
class Coupling(FrictionLaw):
    """Friction law by a coupling matrix C (6, 6), which Muir and Neuman introduced.

    C maps the constraint wrench of the joint to the wrench that the joint transmits, including friction. The components
    of both wrenches are (Fx, Fy, Fz, Mx, My, Mz): force before torque. The diagonal has ones for the components that
    the joint transmits and zeros for its freedoms. The other entries in the row of a freedom are friction coefficients:
    C[k, n] is the friction along freedom k per magnitude of component n. All other entries are zero.

    The frame of C has the origin of the child's frame, and the joint axis as its z axis, as in the notation of Sheth
    and Uicker. For the joint axis z, the frame of C is the child's frame; for the joint axis x, the frame of C has the
    axes (y, z, x) of the child's frame, and for y, the axes (z, x, y).

    Parameters
    ----------
    C : array_like, shape (6, 6)
        Coupling matrix. Friction coefficients are without unit, or lengths [m] that map forces to torques, or 1/m that
        map torques to forces; they are >= 0, because negative coefficients would create energy.
    static : float, default 1
        Ratio >= 1 of the friction at rest to the friction during slip.
    viscous : float, [N m s/rad or N s/m], default 0
        Viscous friction. `Builder.build` adds it to the damping of the joint.

    Examples
    --------
    >>> C = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])  # a pin about z
    >>> C[5, :3] = 0.002, 0.002, 0.005  # radial forces, and the axial force, cause a friction torque
    >>> m = lw.Builder().body("arm", 1.0, inertia=(1, 1, 1))
    >>> m = m.joint("pin", lw.Revolute(), "world", "arm", friction=lw.Coupling(C)).build()

    """

    C: Rows = key(_MATRIX, "Coupling matrix")  # noqa: RUF009
    static: float = key(not_negative(), "Ratio of the friction at rest to the friction during slip", default=1.0)
    viscous: float = viscous_key()

    def require_consistent(self) -> None:
        if self.static < 1.0:
            raise self.error(f"static (friction at rest over friction during slip) must be >= 1; got {self.static:g}")
        C = np.array(self.C)
        free = [k for k in range(6) if C[k, k] == 0.0]
        for k in range(6):
            for n in range(6):
                self._require(k, n, float(C[k, n]), free)

    def _require(self, k: int, n: int, value: float, free: list[int]) -> None:
        """Raise a ModelError if the entry `value` = C[k, n] is invalid; `free` are the indices (0 to 5) of freedoms."""
        entry = f"C[{k}, {n}]"
        if k == n and value not in (0.0, 1.0):
            raise self.error(f"{entry} must be 1 for a transmitted component or 0 for a freedom; got {value:g}")
        if k == n or (k in free and n not in free):
            if value < 0.0:
                raise self.error(
                    f"{entry} must be >= 0, because a negative friction coefficient would create energy; got {value:g}"
                )
        elif value != 0.0:
            where = "the column of a freedom" if n in free else "the row of a transmitted component"
            raise self.error(f"{entry} must be 0, because it is in {where} ({COMPONENTS[n]}); got {value:g}")

    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        free = [k for k in range(6) if np.array(self.C)[k, k] == 0.0]
        freedoms = ", ".join(COMPONENTS[k] for k in free) or "none"
        wanted = f"joints whose freedoms are the zeros on the diagonal of C ({freedoms})"
        S = neutral_subspace(kind)
        if S is None or not isinstance(kind, AxisKind):
            axes = S is not None and free == [3, 4, 5] and S.linear.shape[1] == 3 and not np.any(S.linear)
            return None if axes else wanted
        numbers = self._components(S, joint_frame(S))
        return None if numbers is not None and sorted(numbers) == free else wanted

    @staticmethod
    def _components(S: Motion, frame: Array) -> list[int] | None:
        """Return, for each velocity of a joint, the index of the load component along it: 0 to 2 force, 3 to 5 torque.

        S (6, nv) is the joint's motion subspace in the child's frame. `frame` (3, 3) has the axes of the coupling
        matrix as columns, in the same frame. Return None if a freedom is not along one of these axes.
        """
        turned = np.concatenate([frame.T @ S.linear, frame.T @ S.angular])
        found: list[int] = []
        for column in turned.T:
            # A screw is driven by a torque, not by a force
            own = column * (np.arange(6) >= 3) if np.any(column[3:]) else column
            large = np.flatnonzero(np.abs(own) > PARALLEL)
            if len(large) != 1:
                return None
            found.append(int(large[0]))
        return found

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        frame, C = joint_frame(S), np.array(self.C)
        components = self._components(S, frame) or [3, 4, 5]
        turn, zero = frame.T, np.zeros((3, 3))
        whole = np.concatenate([of_wrench(turn, zero), of_wrench(zero, turn)])
        found = []
        for d, row in enumerate(components):
            terms = [
                LoadTerm(Coefficient(C[row, n], C[row, n] * self.static), whole[n : n + 1])
                for n in range(6)
                if C[row, n] and n not in components
            ]
            found.append(FrictionLimit((d,), (1.0,), tuple(terms), NO_CONSTANT, None))
        return tuple(found)


def joint_frame(S: Motion) -> Array:
    """Return the axes (3, 3), as columns, of the frame of the coupling matrix, whose z axis is the joint axis.

    S (6, nv) is the motion subspace of the joint; S and the result are in the child's frame. For joints without a
    single axis, such as ball joints, the result is the identity: the axes of the child's frame.
    """
    columns = S.angular if np.any(S.angular) else S.linear
    if np.linalg.matrix_rank(columns) != 1:
        return np.eye(3)
    axis = columns[:, int(np.argmax(np.abs(columns).sum(axis=0)))]
    first, second = perpendicular(axis)
    return np.column_stack([first, second, axis])
