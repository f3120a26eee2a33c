"""Structure-preserving methods have their order with any joints, loops, mimic joints, springs and controllers."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from random_loops import looped_tree
from random_mechanisms import state, tree_with_mimics

SPAN = 0.2  # [s]
FAMILY = ("variational", "rattle", "shake", "energy-momentum")
CHAINS = {
    "free": (lw.Free(), lw.Revolute((0, 1, 0)), lw.Universal((1, 0, 0), (0, 1, 0.3)), lw.Ball()),
    "fixed": (lw.Prismatic((0, 1, 1)), lw.Planar((0, 0, 1)), lw.Screw((1, 0, 0), 0.1), lw.Cylindrical((0, 1, 0))),
}


@cache
def chain(name: str) -> lw.Mechanism:
    """Four links, with springs and dampers in all joints but the first, and a spring between two of them."""
    b = lw.Builder(f"chain, {name}")
    for k, kind in enumerate(CHAINS[name]):
        b.body(f"link {k}", 1.0 - 0.1 * k, com=(0.1, 0.03 * k, 0.05), inertia=(0.02, 0.03, 0.025))
        own = {"stiffness": 5.0, "damping": 0.2} if k else {}
        b.joint(f"joint {k}", kind, f"link {k - 1}" if k else "world", f"link {k}", at=(0.2, 0.1, 0.0), **own)
    b.spring("tie", "link 0", "link 2", at=(0.1, 0, 0), to=(0, 0, 0.2), stiffness=40.0, damping=0.5, length=0.3)
    return b.build()


def start(m: lw.Mechanism) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    return m.random(rng), rng.normal(size=m.nv)


def swinging(t: float, q: Array, v: Array) -> Array:
    return np.sin(3.0 * t) - 0.1 * v


def convergence_order(m: lw.Mechanism, q: Array, v: Array, steps: int, span: float = SPAN, **options: Any) -> float:
    """Convergence order from the final states of runs with `steps`, twice and four times as many steps."""
    runs = [lw.simulate(m, q, v, span, span / n, **options).check() for n in (steps, 2 * steps, 4 * steps)]
    ends = [np.concatenate([m.difference(q, run.q[-1]), run.v[-1]]) for run in runs]
    coarse, fine = np.abs(ends[0] - ends[1]).max(), np.abs(ends[1] - ends[2]).max()
    return float(np.log2(coarse / fine))


@pytest.mark.parametrize(
    ("name", "method"), [("free", "variational"), ("fixed", "rattle"), ("fixed", "energy-momentum")]
)
def test_halving_the_step_of_structure_preserving_methods_quarters_the_error(name: str, method: str) -> None:
    m = chain(name)
    assert abs(convergence_order(m, *start(m), 32, method=method, controller=swinging) - 2.0) < 0.1


@pytest.mark.parametrize(("order", "steps"), [(4, 16), (6, 10)])
def test_compositions_have_the_requested_order(order: int, steps: int) -> None:
    """With time-dependent forces, dampers, springs and quaternions."""
    m = chain("free")
    assert (
        abs(convergence_order(m, *start(m), steps, method="variational", order=order, controller=swinging) - order)
        < 0.4
    )


@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_compositions_with_loops_have_the_requested_order(method: str, order: int) -> None:
    m = lw.example("four_bar")
    run = lw.simulate(m, duration=0.5, dt=1e-3, method="rk4")
    assert abs(convergence_order(m, run.q[-1], run.v[-1], 16, 0.1, method=method, order=order) - order) < 0.3


@pytest.mark.parametrize(
    ("name", "span", "steps", "within"), [("pendulum", 4.0, 1280, 1e-12), ("four_bar", 1.0, 640, 2e-11)]
)
def test_energy_balance_of_small_steps_does_not_amplify_round_off(
    name: str, span: float, steps: int, within: float
) -> None:
    """The motion reverses, where the balancing impulse acts along a slow motion."""
    if name == "pendulum":
        m = lw.Builder(name).body("bob", 1.0, com=(0, 0, -1), inertia=(0.01, 0.01, 0.01))
        m, q, v = m.joint("pivot", lw.Revolute((0, 1, 0)), "world", "bob").build(), np.array([1.0]), np.zeros(1)
    else:
        m = lw.example(name)
        swung = lw.simulate(m, duration=0.5, dt=1e-3, method="rk4")
        q, v = swung.q[-1], swung.v[-1]
    exact = lw.simulate(m, q, v, span, span / 2000, "variational", order=6).check()
    run = lw.simulate(m, q, v, span, span / steps, "energy-momentum", order=6).check()
    assert np.abs(run.q[-1] - exact.q[-1]).max() < within


@pytest.mark.parametrize("method", FAMILY)
def test_structure_preserving_methods_have_second_order_with_closed_loops(method: str) -> None:
    m = lw.example("four_bar")
    run = lw.simulate(m, duration=0.5, dt=1e-3, method="rk4")
    assert abs(convergence_order(m, run.q[-1], run.v[-1], 64, 0.1, method=method) - 2.0) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_structure_preserving_methods_have_second_order_with_mimic_joints(method: str) -> None:
    m = tree_with_mimics(36)
    s = state(m, 1)
    assert len(m.mimics)
    assert abs(convergence_order(m, s.q, 0.2 * s.v, 64, method=method) - 2.0) < 0.1


@pytest.mark.slow
def test_loops_between_any_bodies_have_second_order() -> None:
    m, s = looped_tree(6, ("ball",))
    assert abs(convergence_order(m, s.q, 0.2 * s.v, 64, method="variational") - 2.0) < 0.1


def test_shake_and_rattle_compute_the_same_positions() -> None:
    m = lw.example("four_bar")
    d = lw.compile(m)
    rattle, shake = (lw.simulate(m, duration=2.0, dt=5e-3, method=method) for method in ("rattle", "shake"))
    assert np.ptp(rattle.q[:, 0]) > 1.0
    assert np.abs(rattle.q - shake.q).max() < 1e-9
    opening = [np.abs(d.constraint_jacobian(run.q) @ run.v[..., None]).max() for run in (rattle, shake)]
    assert opening[0] < 1e-12 < 1e-6 < opening[1] < 0.1
    assert np.abs(d.constraint(shake.q)).max() < 1e-12


def test_force_of_a_sampled_controller_is_constant_through_all_substeps() -> None:
    """Its forces are constant between samples, so a composition has its order between two samples."""
    m = lw.example("double_pendulum")
    controller = lw.sampled(lambda t, q, v: -3.0 * q - 0.5 * v, rate=10)
    assert (
        abs(
            convergence_order(
                m, np.array([1.0, 0.5]), np.zeros(2), 8, method="variational", order=4, controller=controller
            )
            - 4.0
        )
        < 0.3
    )


def test_simulator_and_run_take_the_same_steps() -> None:
    m = lw.example("double_pendulum")
    sim = lw.Simulator(m, [1.0, 0.5], dt=0.01, method="variational", order=6)
    for _ in range(20):
        sim.step()
    run = lw.simulate(m, [1.0, 0.5], duration=0.2, dt=0.01, method="variational", order=6)
    assert (run.settings.order, sim.order) == (6, 6)
    assert np.abs(sim.state.q - run.q[-1]).max() < 1e-13
    assert np.array_equal(lw.simulate(m, run, duration=0.1).q[-1], lw.simulate(m, [1.0, 0.5], duration=0.3, dt=0.01,
        method="variational", order=6).q[-1])  # fmt: skip


@pytest.mark.parametrize(
    ("method", "order", "says"),
    [("rk4", 6, "has only order 4; other orders need variational, rattle, energy-momentum"),
     ("shake", 4, "has only order 2"),
     ("variational", 3, "one of 2, 4, 6; got 3"), ("auto", 4, "order needs method"),
     ("dop853", 4, "order needs method")],
)  # fmt: skip
def test_orders_that_a_method_does_not_support_are_rejected(method: str, order: int, says: str) -> None:
    with pytest.raises(lw.LinkworkError, match=says):
        lw.simulate(lw.example("double_pendulum"), duration=0.1, method=method, order=order)


def test_structure_preserving_methods_need_no_given_step_size() -> None:
    run = lw.simulate(lw.example("double_pendulum"), [1.0, 0.5], duration=0.5, method="variational")
    assert (run.method, run.outcome.kind) == ("variational", "finished")


def test_compositions_and_step_derivatives_reject_contacts() -> None:
    b = lw.Builder("ball").body("ball", mass=1.0).joint("fall", lw.Prismatic((0, 0, 1)), "world", "ball")
    m = b.surface("floor", lw.Plane()).touch("foot", "ball", stiffness=1e3).build()
    with pytest.raises(lw.LinkworkError, match="backward in time, which are impossible with contact 'foot'"):
        lw.simulate(m, [1.0], duration=0.1, dt=1e-3, method="variational", order=4)
    with pytest.raises(lw.LinkworkError, match="backward in time"):
        lw.Simulator(m, [1.0], method="variational", order=4)
    with pytest.raises(lw.LinkworkError, match="derivatives do not exist: contact 'foot'"):
        lw.Simulator(m, [1.0], method="variational").step_derivatives()
