"""Refusing what cannot be: unphysical inertias, and freedoms that move nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.bodies import Part, inertia_matrix

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


def check_inertia(part: Part) -> None:
    """Raise a ModelError that names the body, the value and the broken inequality unless its inertia is physical."""
    element, mass = f"body {part.name!r}", part.mass
    for what, value in (("mass", mass), ("com", part.com), ("inertia", part.inertia)):
        if not np.isfinite(value).all():
            raise ModelError(f"{what} must be finite; got {np.asarray(value).tolist()}", element)
    moments = np.linalg.eigvalsh(inertia_matrix(part.inertia))
    if not mass >= 0.0:
        raise ModelError(f"mass must be >= 0 kg; got {mass:g}", element)
    tolerance = 1e-9 * max(np.abs(moments).max(), 1e-300)
    low, middle, high = (float(x) for x in moments)
    shown = f"principal moments of inertia about the centre of mass are {low:.6g}, {middle:.6g}, {high:.6g} kg m^2"
    if low < -tolerance:
        raise ModelError(f"{shown}; each must be >= 0, but {low:.6g} < 0", element)
    if low + middle < high - tolerance:
        raise ModelError(
            f"{shown}; two must sum to at least the third (triangle inequality), "
            f"but {low:.6g} + {middle:.6g} = {low + middle:.6g} < {high:.6g}",
            element,
        )
    if mass == 0.0 and high > 0.0:
        raise ModelError(f"mass is 0 kg but {shown}; a body without mass has no inertia", element)


def refuse_massless(mechanism: Mechanism) -> None:
    """Every freedom of every joint must move some inertia, or no force would be needed to move it."""
    rng = np.random.default_rng(0)  # a position without accidental alignments
    outer = [body.inertia for body in mechanism.bodies]
    for joint in reversed(mechanism.joints):
        q = joint.kind.random(rng)
        S, composite = joint.kind.subspace(q), outer[joint.o]
        inertia = S.pair(composite.articulated() @ S) + np.diag(joint.armature)
        least = float(np.linalg.eigvalsh(inertia)[0])
        if not least > 1e-12 * float(np.trace(inertia)):
            raise ModelError(
                f"it moves body {joint.child!r} and what hangs on it, of {composite.mass:g} kg in all, but some of its "
                f"motions meet no inertia (least of S^T I S is {least:.3g}, must be > 0); "
                "give the body mass and inertia, or the joint an armature",
                f"joint {joint.name!r}",
            )
        if joint.i > 0:
            outer[joint.i] = outer[joint.i] + (joint.place @ joint.kind.transform(q)).up(composite)
