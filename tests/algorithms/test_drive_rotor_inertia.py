"""Drive rotors rotate with their joints and give the same motion as shafts geared to the joints."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.model.elements import Brake, Clutch, Drive
from random_mechanisms import revolute_tree, state, tree, tree_with_mimics
from scalars_of_unknown_value import from_opaque, to_opaque


def driven(m: lw.Mechanism, seed: int, count: int = 3) -> lw.Mechanism:
    """The mechanism with drives on one to four of its joints, with rotors and with gears of either sign."""
    rng = np.random.default_rng([seed, 31])
    movable = [joint for joint in m.joints if joint.kind.nv]
    drives = []
    for k in range(count):
        picked = rng.permutation(len(movable))[: 1 + k if k else 3]
        ratios = {movable[i].name: rng.uniform(-2.0, 2.0, size=movable[i].kind.nv) for i in picked}
        numbers = float(rng.uniform(-9, 9)), float(rng.uniform(0.001, 0.1))
        drive = Drive(f"drive {k}", ratios, gear=numbers[0], rotor_inertia=numbers[1]).checked()
        drives.append(drive.numbered(m.joints))
    return m.with_elements("drives", drives)


def with_clutch_and_brake(m: lw.Mechanism) -> lw.Mechanism:
    """The mechanism with an engaged clutch and an engaged brake, where it has joints for them."""
    single = [joint.name for joint in m.leaders if joint.kind.nv == 1]
    clutches = [Clutch("clutch", single[0], single[1], -1.5, np.inf, 1.0)] if len(single) > 1 else []
    brakes = [Brake("brake", single[2], np.inf, 1.0)] if len(single) > 2 else []
    return m.with_elements("clutches", clutches).with_elements("brakes", brakes)


MACHINES = {
    **{f"tree {k}": driven(tree(k), k) for k in (4, 7, 12, 17, 22)},
    **{f"revolute {k}": driven(revolute_tree(k), k) for k in (6, 9)},
    "with mimics": driven(tree_with_mimics(16), 16),
    "held": with_clutch_and_brake(driven(tree(12), 12)),
    "held, with mimics": with_clutch_and_brake(driven(tree_with_mimics(23), 23)),
    "loops": driven(lw.example("stewart_platform"), 1),
}
each = pytest.mark.parametrize("name", MACHINES)


@each
def test_all_formulations_agree_for_mechanisms_with_rotors(name):
    m = MACHINES[name]
    assert m.rotors or m.tree.rotors
    assert lw.cross_check(m, samples=3).worst < 1e-10


@each
def test_kinetic_energy_includes_the_rotors_of_drives(name):
    m = MACHINES[name]
    rng = np.random.default_rng(3)
    q, v = m.random(rng), rng.normal(size=m.nv)
    d, bare = lw.compile(m, target="numpy"), lw.compile(m.with_elements("drives", []), target="numpy")
    rotors = sum(0.5 * d.rotor_inertia * (d.gear * d.row @ v) ** 2 for d in m.drives)
    assert d.energy(q, v)[0] == pytest.approx(bare.energy(q, v)[0] + rotors, rel=1e-12)
    assert 0.5 * v @ d.mass_matrix(q) @ v == pytest.approx(d.energy(q, v)[0], rel=1e-12)


def test_rotor_moves_as_a_shaft_geared_to_its_joints():
    """The same arm with the rotors as separate wheels on the world, each geared to the joints by one constraint row."""
    rng = np.random.default_rng(5)
    ratios = [{"one": 1.0, "two": -2.0}, {"one": 0.5, "two": 1.0, "three": 3.0}]
    numbers = [(0.02, 7.0), (0.01, -4.0)]

    def arm(wheels: bool) -> lw.Builder:
        b = lw.Builder("arm")
        for parent, name in zip(("world", "one", "two"), ("one", "two", "three"), strict=True):
            b.body(name, 1.0, com=(0.3, 0.1, 0), inertia=(0.1, 0.2, 0.25))
            b.joint(name, lw.Revolute((0, 1, 0.3)), parent, name, at=(0.5, 0, 0))
        for k, (inertia, gear) in enumerate(numbers):
            if wheels:
                b.body(f"wheel {k}", 1e-9, inertia=(inertia, inertia, inertia))
                b.joint(f"wheel {k}", lw.Revolute((1, 0, 0)), "world", f"wheel {k}")
                b.clutch(f"gear {k}", {n: x * gear for n, x in ratios[k].items()}, f"wheel {k}", engaged=True)
            else:
                b.drive(f"motor {k}", ratios[k], gear=gear, rotor_inertia=inertia)
        return b

    m, whole = arm(False).build(), arm(True).build()
    d, w = lw.compile(m), lw.compile(whole)
    for _ in range(5):
        q, v, tau = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
        by_name: dict[str, float] = dict(zip(["one", "two", "three"], v.tolist(), strict=True))
        sums = [sum(x * by_name[joint] for joint, x in one.items()) for one in ratios]
        turns = [gear * x for x, (_, gear) in zip(sums, numbers, strict=True)]
        found = w.forward_dynamics([*q, 0, 0], [*v, *turns], [*tau, 0, 0])
        np.testing.assert_allclose(d.forward_dynamics(q, v, tau), found[:3], rtol=1e-10)


@pytest.mark.parametrize("name", ["tree 7", "tree 22", "with mimics", "held"])
def test_acceleration_derivatives_with_rotors_match_finite_differences(name):
    m = MACHINES[name]
    rng = np.random.default_rng(4)
    d = lw.compile(m, target="numpy")
    q, v, tau = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    v = d.consistent(q, v)
    by_q, _, by_tau = d.forward_dynamics_derivatives(q, v, tau)
    step = rng.normal(size=m.nv)
    more, less = (d.forward_dynamics(q, v, tau + sign * step) for sign in (1.0, -1.0))
    np.testing.assert_allclose(by_tau @ step, (more - less) / 2, rtol=1e-8, atol=1e-9)
    more, less = (d.forward_dynamics(m.integrate(q, sign * 1e-6 * step), v, tau) for sign in (1.0, -1.0))
    np.testing.assert_allclose(by_q @ step, (more - less) / 2e-6, rtol=1e-4, atol=1e-4 * abs(by_q).max())


@pytest.mark.parametrize("method", ["semi-implicit", "rk4", "midpoint", "variational", "energy-momentum", "rattle"])
def test_every_integration_method_conserves_energy_with_rotors(method):
    m = lw.Builder("pair", gravity=(0, 0, -9.81))
    for k, parent in enumerate(("world", "link 0", "link 1")):
        m.body(f"link {k}", 1.0, com=(0.3, 0, 0), inertia=(0.01, 0.05, 0.05))
        m.joint(f"joint {k}", lw.Revolute((0, 1, 0)), parent, f"link {k}", at=(0.5 if k else 0, 0, 0))
    m.drive("motor", {"joint 0": 1.0, "joint 2": -1.0}, gear=5.0, rotor_inertia=0.01)
    run = lw.simulate(m.build(), [0.3, 0.2, -0.5], [1.0, -2.0, 0.5], duration=0.5, dt=5e-4, method=method)
    swing = np.ptp(run["energy.kinetic"])
    assert np.ptp(run.energy) < {"rk4": 1e-9, "energy-momentum": 1e-11}.get(method, 2e-3) * swing
    assert run.report().passed


@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_free_robot_conserves_momentum_with_rotors(method):
    b = lw.Builder("robot", gravity=(0, 0, 0)).body("hull", 5.0, inertia=(1, 2, 1.5))
    b.joint("float", lw.Free(), "world", "hull")
    for k, y in enumerate((1.0, -1.0)):
        b.body(f"arm {k}", 1.0, com=(0.4, 0, 0.1), inertia=(0.02, 0.1, 0.1))
        b.joint(f"arm {k}", lw.Revolute((0, 0.6, 0.8)), "hull", f"arm {k}", at=(0, y, 0))
    m = b.drive("motor", {"arm 0": 1.0, "arm 1": -1.0}, gear=8.0, rotor_inertia=0.01).build()
    assert len(m.rotors) == 1
    assert len(m.symmetries()) == 6
    v = [0.1, 0, -0.2, 0.3, 0.5, -0.4, 2.0, 1.0]
    run = lw.simulate(m, m.neutral(), v, duration=0.5, dt=2e-3, method=method)
    assert run.report().passed
    maps = lw.compile(m).momentum_maps(run.q, run.v)
    assert np.ptp(maps, axis=0).max() < 1e-11


def test_rotor_of_a_drive_of_one_joint_adds_to_the_armature_of_the_joint():
    """A drive of one joint adds armature; the recursion needs no rotor terms."""
    b = lw.Builder("arm").body("link", 1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    b.joint("pin", lw.Revolute((0, 1, 0)), "world", "link", armature=0.2)
    m = b.drive("motor", {"pin": -2.0}, gear=10.0, rotor_inertia=1e-3).build()
    assert not m.rotors
    assert m.armature == pytest.approx([0.2 + 1e-3 * 20.0**2])


def test_rotor_inertia_and_gear_can_vary_in_a_batch():
    m = MACHINES["tree 12"]
    rng = np.random.default_rng(1)
    q, v, tau = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    d = lw.compile(m, parameters=["drive 1.gear", "drive 1.rotor_inertia"])
    given = {"drive 1.gear": np.array([2.0, -3.0]), "drive 1.rotor_inertia": np.array([0.0, 0.5])}
    found = d.forward_dynamics(q, v, tau, parameters=given)
    for k in range(2):
        one = m.with_parameters({name: values[k] for name, values in given.items()})
        expected = lw.compile(one, target="numpy").forward_dynamics(q, v, tau)
        np.testing.assert_allclose(found[k], expected, rtol=1e-9, atol=1e-10)


def test_dynamics_with_rotors_never_branch_on_the_value_of_a_number():
    m = MACHINES["tree 7"]
    s = state(m, 0)
    found = forward_dynamics(m, to_opaque(s.q), to_opaque(s.v), to_opaque(s.tau))
    np.testing.assert_allclose(from_opaque(found), forward_dynamics(m, s.q, s.v, s.tau), rtol=1e-12)


def test_cost_grows_linearly_with_the_length_of_a_chain_of_rotor_coupled_joints():
    """Rotors that couple neighbouring joints: no dense matrix is solved."""
    from linkwork.compiler.tracing import trace

    def operations(n: int) -> int:
        b = lw.Builder("chain")
        for k in range(n):
            b.body(f"link {k}", 1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
            b.joint(
                f"joint {k}", lw.Revolute((0, 1, 0)), f"link {k - 1}" if k else "world", f"link {k}", at=(0.2, 0, 0)
            )
        for k in range(n - 1):
            b.drive(f"motor {k}", {f"joint {k}": 1.0, f"joint {k + 1}": -1.0}, rotor_inertia=0.01)
        m = b.build()
        graph = trace(lambda q, v, tau: forward_dynamics(m, q, v, tau), [(n,)] * 3)
        return len(graph.nodes)

    five, ten, twenty = (operations(n) for n in (5, 10, 20))
    assert (twenty - ten) / (ten - five) < 2.2
