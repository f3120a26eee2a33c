"""Springs and dampers between bodies in simulations: closed forms, stiff springs at large steps, energy balance."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import linkwork as lw
from random_mechanisms import state, tree_with_springs

ORDERS = {"semi-implicit": 1, "midpoint": 2, "rk4": 4}
TREE, WITH_MIMICS = tree_with_springs(3), tree_with_springs(32, mimics=True)  # small ones, whose kernels are soon built
each_method = pytest.mark.parametrize(
    ("method", "m"), [*product(ORDERS, [TREE]), ("midpoint", WITH_MIMICS)], ids=lambda x: getattr(x, "name", x)
)


def two_masses(**spring: float) -> lw.Mechanism:
    """2 kg and 3 kg on one rail, with a spring between points on it, 0.7 m apart."""
    b = lw.Builder("two masses", gravity=(0, 0, 0))
    for name, mass, at in (("left", 2.0, 0.0), ("right", 3.0, 1.0)):
        b.body(name, mass).joint(f"{name} rail", lw.Prismatic((1, 0, 0)), "world", name, (at, 0, 0))
    return b.spring("coil", "left", "right", (0.1, 0, 0), (-0.2, 0, 0), **spring).build()


def test_two_masses_on_a_spring_oscillate_at_their_frequency() -> None:
    """x_right - x_left - 0.3 - length = A cos(w t) with w^2 = k (1/2 + 1/3), about a centre of mass at rest."""
    k, length, stretched = 60.0, 0.5, 0.05
    m = two_masses(stiffness=k, length=length)
    w = np.sqrt(k * (1 / 2 + 1 / 3))
    start = np.array([0.0, length - 0.7 + stretched])
    run = lw.simulate(m, start, duration=3.0, dt=1e-3, method="rk4").check()
    relative = run.q[:, 1] - run.q[:, 0] + 0.7 - length
    assert np.abs(relative - stretched * np.cos(w * run.t)).max() < 3e-11  # w t (w h)^4 / 120
    assert np.abs(run.q @ [2.0, 3.0] - start @ [2.0, 3.0]).max() < 1e-12
    assert np.abs(run.energy - 0.5 * k * stretched**2).max() < 1e-12


def test_mass_on_a_damper_reaches_its_terminal_speed() -> None:
    """z' = -(m g / c) (1 - exp(-c t / m))."""
    b = lw.Builder("sinking").body("weight", 2.0).joint("rail", lw.Prismatic(), "world", "weight", (0, 0, -1))
    m = b.spring("piston", "world", "weight", damping=8.0).build()
    t, final = 2.0, 2.0 * 9.81 / 8.0
    exact = -final * (t - 0.25 * (1.0 - np.exp(-4.0 * t)))
    for method, error in (("rk4", 1e-9), ("midpoint", 1e-6), ("semi-implicit", 2e-3)):
        run = lw.simulate(m, duration=t, dt=1e-3, method=method).check()
        assert abs(run.q[-1, 0] - exact) < error
        assert abs(run.v[-1, 0] + final * (1.0 - np.exp(-4.0 * t))) < error
        assert abs(run["work"][-1] - (run.energy[-1] - run.energy[0])) < 20.0 * error


def test_midpoint_handles_stiff_springs_between_bodies() -> None:
    """A pendulum whose rod is a spring of 1e8 N/m and a damper, at steps far above its period of 0.6 ms."""
    b = lw.Builder("stiff").body("bob", 1.0, inertia=(0.01, 0.01, 0.01))
    b.joint("rails", lw.Planar((0, 1, 0)), "world", "bob")
    m = b.spring("rod", "world", "bob", stiffness=1e8, damping=1e3, length=1.0).build()
    place = np.array([np.sin(0.3), 0.0, -np.cos(0.3)])
    q0 = next(
        q for q in _planar_signs(place) if np.allclose(lw.compile(m, target="numpy").pose(q, "bob")[:3, 3], place)
    )
    run = lw.simulate(m, q0, duration=1.0, dt=0.01, method="midpoint").check()
    chosen = lw.simulate(m, q0, duration=0.1)
    assert (chosen.method, "stiff" in chosen.settings.why) == ("midpoint", True)
    at = run["pose.bob"][:, :3, 3]
    assert np.abs(np.linalg.norm(at, axis=1) - 1.0).max() < 1.5e-5  # (v h)^2 / 8: the chord's middle is held
    rigid = (
        lw.Builder("rigid").body("bob", 1.0, (0, 0, -1)).joint("pin", lw.Revolute((0, 1, 0)), "world", "bob").build()
    )
    swing = lw.simulate(rigid, [-0.3], duration=1.0, dt=1e-3, method="rk4")
    assert np.abs(at[-1, 0] - np.sin(-swing.q[-1, 0])) < 1e-3
    assert lw.simulate(m, q0, duration=1.0, dt=0.01, method="rk4").outcome.kind == "non-finite"


def _planar_signs(place: np.ndarray) -> list[np.ndarray]:
    """Return possible coordinates of a planar joint; one order and choice of signs gives the position `place`."""
    x, _, z = place
    return [np.array(order) for a in (x, -x) for b in (z, -z) for order in ((a, b, 0), (b, a, 0), (0, a, b), (0, b, a))]


def test_semi_implicit_method_handles_strong_dampers_between_bodies() -> None:
    """h c / m is 1000: an explicit step would multiply the velocity by -1000."""
    m = two_masses(damping=1e6)
    run = lw.simulate(m, [0.0, 0.0], [1.0, -1.0], 0.1, 1e-3, "semi-implicit").check()
    assert np.abs(run.v[-1] - (2.0 - 3.0) / 5.0).max() < 1e-6  # one speed for both, momentum is conserved
    assert np.abs(run.v).max() <= 1.0


@each_method
def test_energy_balance_error_falls_with_the_order(method: str, m: lw.Mechanism) -> None:
    s, found = state(m, 5), []
    for n in (32, 64, 128):
        run = lw.simulate(m, s.q, 0.3 * s.v, 0.2, 0.2 / n, method, wrenches=s.wrenches).check()
        assert abs(run["work"][-1]) > 1e-3
        found.append(abs(run.energy[-1] - run.energy[0] - run["work"][-1]))
    assert found[2] < 1e-11 or np.log2(found[0] / found[2]) / 2.0 > ORDERS[method] - 0.4, found


@each_method
def test_compiled_and_numpy_runs_agree(method: str, m: lw.Mechanism) -> None:
    s, names = state(m, 6), ("spring 0.damping", "spring 1.stiffness")
    given = {name: 1.5 * m.parameters[name] for name in names}
    fast, plain = (
        lw.simulate(m, s.q, 0.3 * s.v, 0.02, 1e-3, method, parameters=given, target=target)
        for target in ("cpu", "numpy")
    )
    built = lw.simulate(m.with_parameters(given), s.q, 0.3 * s.v, 0.02, 1e-3, method)
    for run in (plain, built):
        assert np.abs(fast.q - run.q).max() < 1e-9
        assert np.abs(fast.v - run.v).max() < 1e-9
