"""Robots with mimic joints match Pinocchio's inverse dynamics and mass matrix in the same reduced coordinates."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from pinocchio_reference import FOLDER, coordinates, mass_matrix, pin
from random_mechanisms import relative

# Pinocchio cannot follow the mimics of talos_full_v2, whose leaders come later in the tree.
ROBOTS = ("baxter_description/urdf/baxter.urdf", "panda_description/urdf/panda.urdf", "pr2_description/urdf/pr2.urdf")
PATHS = [path for path in (FOLDER / name for name in ROBOTS) if path.is_file()]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_inverse_dynamics_and_mass_matrix_match_pinocchio(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        m = lw.load(path)
    model = pin.buildModelFromUrdf(str(path), mimic=True)
    assert len(m.mimics) > 0
    assert model.nv == m.nv
    d, data, rng = lw.compile(m, target="numpy"), model.createData(), np.random.default_rng(0)
    order = np.concatenate([np.r_[m.joints[name].v] for name in model.names[1:] if name not in m.mimics])
    for _ in range(3):
        q, (v, a) = m.random(rng), rng.normal(size=(2, m.nv))
        pin_q = coordinates(m, model, q)
        tau = pin.rnea(model, data, pin_q, v[order], a[order])
        assert relative(d.inverse_dynamics(q, v, a)[order], tau) < 1e-12
        found = d.mass_matrix(q)[np.ix_(order, order)]
        assert relative(found, mass_matrix(model, data, pin_q)) < 1e-12
        assert relative(d.inverse_dynamics(q, v, d.forward_dynamics(q, v, tau)), tau, scale=1.0) < 1e-9
