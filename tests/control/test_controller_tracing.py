"""Controllers give the same result in kernels as on floats, in every lane, alone or inside a user function."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.graph import Count
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.traced_array import TracedArray, lifted
from linkwork.compiler.traced_loops import Rows
from linkwork.compiler.tracing import trace
from linkwork.spatial.scalar import Array
from linkwork.spatial.traceable_loops import record
from random_mechanisms import relative, tree, tree_with_mimics


def flyer() -> lw.Mechanism:
    """A free base with an arm of seven joints and a tool."""
    b = lw.Builder("flyer", gravity=(0, 0, 0))
    b.body("base", mass=20.0, com=(0.1, 0, 0), inertia=(2.0, 3.0, 4.0)).joint("float", lw.Free(), "world", "base")
    parent = "base"
    for k in range(7):
        b.body(f"link {k}", mass=2.0, com=(0.02, 0.01, 0.15), inertia=(0.02, 0.02, 0.01))
        axis = np.eye(3)[(2, 1, 0)[k % 3]]
        b.joint(f"joint {k}", lw.Revolute(axis), parent, f"link {k}", at=(0, 0, 0.3), damping=0.2, armature=0.01)
        parent = f"link {k}"
    return b.frame("tool", body=parent, at=(0.05, 0, 0.2)).build()


FLYER, TREE, COUPLED = flyer(), tree(6), tree_with_mimics(10)
PLACE = np.array([0.4, 0.3, 0.9])


def random_reference(m: lw.Mechanism) -> lw.Reference:
    return lw.Reference([0.0, 0.3, 1.0], [m.random(k) for k in range(3)])


def circle(t: Any) -> tuple[Any, Any, Any]:
    c, s = np.cos(t), np.sin(t)
    turn = np.array([[c, -s, 0.0, 0.3 * c], [s, c, 0.0, 0.3 * s], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0]])
    none = 0.0 * t
    rate = np.stack([-0.3 * s, 0.3 * c, none, none, none, 1.0 + none])
    return turn, rate, np.stack([-0.3 * c, -0.3 * s, none, none, none, none])


CASES: dict[str, tuple[lw.Mechanism, Callable[..., Any]]] = {
    "pd": (TREE, lw.feedback.pd(TREE, TREE.random(1), 3.0, 1.0, limit=2.0)),
    "pd, mimics": (COUPLED, lw.feedback.pd(COUPLED, COUPLED.random(1), 3.0, 1.0)),
    "pd, reference": (FLYER, lw.feedback.pd(FLYER, random_reference(FLYER), 3.0, 1.0)),
    "gravity": (TREE, lw.feedback.gravity_compensation(TREE)),
    "computed torque": (TREE, lw.feedback.computed_torque(TREE, TREE.random(1), 3.0, 1.0)),
    "computed torque, idle base": (FLYER, lw.feedback.computed_torque(FLYER, random_reference(FLYER), 3.0, 1.0)),
    "resolved rate": (FLYER, lw.feedback.resolved_rate(FLYER, "tool", PLACE, 2.0, damping=0.1)),
    "resolved rate, pose": (FLYER, lw.feedback.resolved_rate(FLYER, "tool", circle, 2.0, damping=0.1)),
    "operational space": (FLYER, lw.feedback.operational_space(FLYER, "tool", PLACE, 9.0, 3.0)),
    "operational space, pose": (FLYER, lw.feedback.operational_space(FLYER, "tool", circle, 9.0, 3.0, damping=0.1)),
}


def states(m: lw.Mechanism, count: int) -> list[Array]:
    rng = np.random.default_rng(count)
    q = np.array([m.integrate(m.random(rng), np.zeros(m.nv)) for _ in range(count)])
    return [rng.uniform(-0.2, 1.2, size=count), q, rng.normal(size=(count, m.nv))]


@pytest.mark.parametrize("case", CASES)
def test_controller_kernel_matches_python(case: str) -> None:
    m, controller = CASES[case]
    kernel = Kernel(case, lifted(controller), [(), (m.nq,), (m.nv,)], [(m.nv,)], key=f"controller {case}")
    arrays = states(m, 6)
    (found,), _ = kernel.over_batch(arrays, (6,), 1)
    expected = np.array([controller(*(a[k] for a in arrays)) for k in range(6)])
    assert relative(found, expected) < 1e-12
    assert (kernel.over_batch([a[3] for a in arrays], (), 1)[0][0] == found[3]).all()


def test_controllers_with_memory_can_be_compiled() -> None:
    m = TREE
    controller: Any = lw.feedback.pid(m, m.random(1), 3.0, 1.0, 0.5, dt=0.01, limit=2.0)
    shapes = [(), (m.nq,), (m.nv,), (m.nv,)]
    kernel = Kernel("pid", lifted(controller), shapes, [(m.nv,), (m.nv,)], key="controller pid")
    arrays = [*states(m, 5), np.random.default_rng(1).normal(size=(5, m.nv))]
    found, _ = kernel.over_batch(arrays, (5,), 1)
    for k in range(5):
        for ours, theirs in zip(found, controller(*(a[k] for a in arrays)), strict=True):
            assert relative(ours[k], theirs) < 1e-12


def test_user_functions_can_call_dynamics_and_controllers_and_be_compiled() -> None:
    """Quantities of traced arrays are traced arrays, to which NumPy functions apply directly."""
    m = TREE
    d, pd = lw.compile(m), lw.feedback.pd(m, m.random(1), 3.0, 1.0)

    def own(t: Any, q: Array, v: Array) -> Array:
        held = np.clip(d.gravity(q), -2.0, 2.0)
        kinetic, _ = d.energy(q, v)
        return held + np.tanh(pd(t, q, v)) - np.minimum(kinetic, 1.0) * np.sign(d.mass_matrix(q) @ v)

    kernel = Kernel("own", lifted(own), [(), (m.nq,), (m.nv,)], [(m.nv,)], key="controller of a user")
    arrays = states(m, 4)
    (found,), _ = kernel.over_batch(arrays, (4,), 1)
    assert relative(found, np.array([own(*(a[k] for a in arrays)) for k in range(4)])) < 1e-12
    seen: list[type] = []
    trace(lifted(lambda q: seen.append(type(d.gravity(q))) or q), [(m.nq,)])
    assert seen == [TracedArray]
    assert type(d.gravity(m.neutral())) is type(pd(0.0, m.neutral(), np.zeros(m.nv))) is np.ndarray


def test_computed_torque_rollout_reaches_its_target() -> None:
    """Computed torque around an integration step, in one loop of a kernel: the error follows its linear dynamics."""
    b = lw.Builder("arm").body("upper", mass=2.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.02))
    b.body("lower", mass=1.0, com=(0, 0, 0.2), inertia=(0.05, 0.05, 0.01))
    b.joint("shoulder", lw.Revolute((0, 1, 0)), "world", "upper", damping=0.5)
    m = b.joint("elbow", lw.Revolute((0, 1, 0)), "upper", "lower", at=(0, 0, 0.4), damping=0.5).build()
    d, target = lw.compile(m), np.array([0.5, -0.4])
    controller = lw.feedback.computed_torque(m, target, 25.0, 10.0)
    dt, steps = 1e-3, Count(0)

    def rollout(q: Array, v: Array, count: Any) -> tuple[Any, ...]:
        def step(k: Any, q: Array, v: Array) -> tuple[Any, Any]:
            v = v + dt * d.forward_dynamics(q, v, controller(dt * k, q, v) + d.passive(q, v))
            q = q + dt * v
            return (q, v), (q,)

        (q, v), (path,) = record(count, step, q, v)
        return q, v, path

    kernel = Kernel("led", rollout, [(2,), (2,)], [(2,), (2,), Rows(steps, (2,))], key="led", counts=1)
    start = np.random.default_rng(0).normal(size=(5, 2))
    (_, _, path), _ = kernel.over_batch([start, np.zeros((5, 2))], (5,), 1, counts=(2000,))
    time = dt * np.arange(1, 2001)[:, None]
    for k in range(5):
        expected = (start[k] - target) * (1.0 + 5.0 * time) * np.exp(-5.0 * time)  # critically damped
        assert np.abs(path[k] - target - expected).max() < 5e-3 * np.abs(start[k] - target).max()
