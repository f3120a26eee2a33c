"""Conversion of states to Pinocchio's order and coordinates; joints are matched by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array

pin: Any = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (the extra 'peers')")

# Where Pinocchio is installed, wheel or not, the robots are under the same prefix.
FOLDER = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
if not FOLDER.is_dir():
    pytest.skip("the robots of example-robot-data are not installed (the extra 'peers')", allow_module_level=True)


def velocity_order(m: lw.Mechanism, model: Any) -> Array:
    """Return the index (nv,) in linkwork's velocities of each of Pinocchio's velocities."""
    slices = [m.joints[name].v for name in model.names[1:]]
    return np.concatenate([np.zeros(0, dtype=int), *(np.arange(m.nv)[v] for v in slices)])


def coordinates(m: lw.Mechanism, model: Any, q: Array) -> Array:
    """Return Pinocchio's coordinates of linkwork's q.

    Pinocchio has quaternions with w last, and cosine and sine of continuous and planar joints.
    """
    found = np.empty(model.nq)
    for name, joint in zip(model.names[1:], list(model.joints)[1:], strict=True):
        own = q[m.joints[name].q]
        if joint.nq == 7:
            own = own[[0, 1, 2, 4, 5, 6, 3]]
        elif joint.nq == joint.nv + 1:
            own = [*own[:-1], np.cos(own[-1]), np.sin(own[-1])]
        found[joint.idx_q : joint.idx_q + joint.nq] = own
    return found


def mass_matrix(model: Any, data: Any, pin_q: Array) -> Array:
    """Return Pinocchio's mass matrix (nv, nv); Pinocchio itself computes only the upper half."""
    upper = np.triu(pin.crba(model, data, pin_q))
    return upper + np.triu(upper, 1).T
