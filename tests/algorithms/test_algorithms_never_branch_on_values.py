"""Every compilable algorithm gives the same result on floats and on scalars that hide their value."""

from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import (
    forward_dynamics,
    inverse_dynamics,
    jacobians,
    kinematics,
    mass_matrix,
    momentum,
    reactions,
)
from linkwork.algorithms.formulations.mass_matrix_factorization import factorization
from linkwork.algorithms.passive_joint_forces import passive
from random_mechanisms import relative, state, tree
from scalars_of_unknown_value import Opaque, from_opaque, to_opaque

ALGORITHMS = {
    "poses": lambda m, s: [X.matrix for X in kinematics.world_poses(m, kinematics.joint_poses(m, s.q))],
    "twists": lambda m, s: [V.array for V in kinematics.kinematics(m, s.q, s.v).twist],
    "inverse dynamics": lambda m, s: inverse_dynamics.inverse_dynamics(m, s.q, s.v, s.a, s.wrenches).tau,
    "bias": lambda m, s: inverse_dynamics.bias(m, s.q, s.v),
    "passive": lambda m, s: passive(m, s.q, s.v),
    "forward dynamics": lambda m, s: forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau, s.wrenches),
    "mass matrix": lambda m, s: mass_matrix.mass_matrix(m, s.q),
    "mass matrix solve": lambda m, s: mass_matrix.factor(m, mass_matrix.mass_matrix(m, s.q)).solve(s.tau),
    "jacobian": lambda m, s: jacobians.jacobian(m, s.q, "probe", "world"),
    "jacobian rate": lambda m, s: jacobians.jacobian_rate(m, s.q, s.v, "probe", "mixed"),
    "momentum": lambda m, s: momentum.momentum(m, s.q, s.v),
    "momentum matrix": lambda m, s: momentum.momentum_matrix(m, s.q),
    "momentum rate": lambda m, s: momentum.momentum_rate(m, s.q, s.v, s.a),
    "centre of mass": lambda m, s: momentum.center_of_mass(m, s.q),
    "energy": lambda m, s: momentum.energy(m, s.q, s.v),
    "reactions": lambda m, s: reactions.reactions(m, s.q, s.v, s.tau, s.wrenches),
    "factorized mass matrix": lambda m, s: factorization(m, s.q, s.v, s.wrenches).mass_matrix,
    "coordinates reached": lambda m, s: m.integrate(s.q, s.v),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_never_branch_on_the_value_of_a_number(name: str) -> None:
    for seed in (0, 1, 7, 8, 11):  # every joint kind between them, both bases
        m = tree(seed)
        s = state(m, seed)
        hidden = type(s)(*(to_opaque(x) for x in s))
        found, expected = from_opaque(ALGORITHMS[name](m, hidden)), np.asarray(ALGORITHMS[name](m, s))
        assert relative(found, expected) < 1e-11


def test_algorithms_never_branch_on_the_value_of_a_parameter() -> None:
    m = tree(12)
    s = state(m, 12)
    names = [f"{m.bodies[1].name}.mass", f"{m.bodies[2].name}.com", f"{m.joints[1].name}.at", "gravity"]
    names += [f"{m.bodies[1].name}.inertia", f"{m.joints[2].name}.armature"]
    hidden = m.with_parameters({name: to_opaque(m.parameters[name]) for name in names})
    found = from_opaque(forward_dynamics.forward_dynamics(hidden, s.q, s.v, s.tau))
    assert relative(found, forward_dynamics.forward_dynamics(m, s.q, s.v, s.tau)) < 1e-12


def test_cost_of_articulated_body_algorithm_grows_linearly() -> None:
    """Count operations on scalars of unknown value: twice the joints take twice the operations."""
    counts = [operations(chain(n)) for n in (8, 16, 32)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def chain(n: int) -> lw.Mechanism:
    b, parent = lw.Builder("chain"), "world"
    for k in range(n):
        b.body(f"link {k}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.1, 0.1))
        b.joint(f"pin {k}", lw.Revolute((0, 0, 1)), parent, f"link {k}", at=(0.5, 0, 0), rpy=(0.3, 0.2, 0.1))
        parent = f"link {k}"
    return b.build()


def operations(m: lw.Mechanism) -> int:
    """Count additions, multiplications and divisions of one forward dynamics call."""
    s = state(m, 0)
    with mock.patch.object(Opaque, "_binary", autospec=True, side_effect=Opaque._binary) as binary:
        forward_dynamics.forward_dynamics(m, *(to_opaque(x) for x in (s.q, s.v, s.tau)))
    return binary.call_count
