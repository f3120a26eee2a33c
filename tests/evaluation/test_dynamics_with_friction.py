"""Methods of `Dynamics` with friction: compiled and plain, inverse and forward, at rest, jamming, parameters."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.joint_friction import friction_dynamics
from linkwork.algorithms.joint_friction.friction_limits import active_limits
from linkwork.algorithms.joint_friction.friction_sites import sites
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_friction_laws import with_random_laws
from random_mechanisms import TREES, State, relative, state, tree, tree_with_mimics

GROUPS = mark_slow_except(
    [range(3, 30, 9), *(range(k, k + 10) for k in range(0, TREES, 10))], [range(3, 30, 9)], lambda seeds: f"{seeds}"
)


def tree_with_friction(seed: int, size: float = 1.0) -> tuple[lw.Mechanism, State]:
    return with_random_laws(tree(seed), seed, size), state(tree(seed), seed)


@pytest.mark.parametrize("group", GROUPS)
def test_inverse_dynamics_with_friction_inverts_forward_dynamics(group: range) -> None:
    """In motion tau is found again; at rest the smallest tau with the same motion, which then gives this motion."""
    for seed in group:
        m, s = tree_with_friction(seed)
        d = lw.compile(m, target="numpy")
        a = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches, friction=True)
        assert relative(d.inverse_dynamics(s.q, s.v, a, s.wrenches, friction=True), s.tau) < 1e-10
        rest = np.zeros(m.nv)
        a = d.forward_dynamics(s.q, rest, s.tau, s.wrenches, friction=True)
        least = d.inverse_dynamics(s.q, rest, a, s.wrenches, friction=True)
        assert relative(d.forward_dynamics(s.q, rest, least, s.wrenches, friction=True), a) < 1e-9


def test_a_sleeve_that_begins_to_slip_just_above_its_limit_is_found_beside_joints_that_slip_fast() -> None:
    """Friction is at its limit, and opposes the acceleration of each joint that begins to slip."""
    m, s = tree_with_friction(273)
    found = friction_dynamics.solve(m, s.q, np.zeros(m.nv), s.tau, s.wrenches)
    a, f = np.concatenate([found.a[site.joint.v] for site in sites(m) if site.joint]), found.friction
    assert found.converged
    for one in active_limits(m, s.q, 0.0 * f, 0.0 * f):
        n, scales = list(one.numbers), np.array(one.scales)
        assert (f[n] / scales) @ (f[n] / scales) == pytest.approx(one.value(found.loads[one.site], f) ** 2, rel=1e-9)
        assert -(f[n] / scales) @ (a[n] * scales) == pytest.approx(
            np.linalg.norm(f[n] / scales) * np.linalg.norm(a[n] * scales), rel=1e-9
        )


@pytest.fixture(scope="module")
def leg() -> lw.Mechanism:
    """A leg with friction of several kinds: free base, universal hip, screw, guide, ball foot."""
    b = lw.Builder("leg").body("base", 5.0, inertia=(0.3, 0.2, 0.4)).joint("free", lw.Free(), "world", "base")
    parent = "base"
    for name, kind, friction in [
        ("hip", lw.Universal(), lw.Bearing(0.1, 0.02, mu_static=0.15)),
        ("knee", lw.Revolute((0, 1, 0)), lw.Bearing(0.1, 0.02, 0.03, length=0.1, stribeck=0.3)),
        ("jack", lw.Screw((0, 0, 1), 0.01), lw.Thread(0.15, 0.01, flank=0.26)),
        ("slide", lw.Prismatic((1, 0, 1)), lw.Guide(0.05, 0.3, width=0.2)),
        ("foot", lw.Ball(), lw.Socket(0.2, 0.03)),
    ]:
        b.body(name, 1.0, com=(0.02, 0.03, -0.2), inertia=(0.02, 0.03, 0.01))
        b.joint(name, kind, parent, name, at=(0.05, 0.0, -0.4), friction=friction)
        parent = name
    return b.build()


def test_compiled_dynamics_with_friction_match_plain_numpy(leg: lw.Mechanism) -> None:
    """In a batch with members at rest, in motion, and partly at rest."""
    compiled, plain = lw.compile(leg), lw.compile(leg, target="numpy")
    rng = np.random.default_rng(0)
    q = np.array([leg.random(rng) for _ in range(9)])
    v, tau = rng.normal(size=(2, 9, leg.nv))
    v[3:6] = 0.0
    v[6:, 9:] = 0.0
    for name in ("forward_dynamics", "reactions"):
        found = getattr(compiled, name)(q, v, tau, friction=True)
        expected = getattr(plain, name)(q, v, tau, friction=True)
        for one, other in zip(found, expected, strict=True):
            assert relative(one, other) < 1e-10
        alone = getattr(compiled, name)(q[4], v[4], tau[4], friction=True)
        assert alone.tobytes() == found[4].tobytes()
    a = compiled.forward_dynamics(q, v, tau, friction=True)
    f = compiled.friction(q, v, tau)
    assert relative(compiled.inverse_dynamics(q[:3], v[:3], a[:3], friction=True), tau[:3]) < 1e-10
    assert relative(compiled.forward_dynamics(q, v, tau + f), a) < 1e-9
    assert (np.einsum("...i,...i", v, f)[:3] < 0.0).all()


def test_friction_laws_act_in_dynamics_only_with_friction_true(leg: lw.Mechanism) -> None:
    d, q, ones = lw.compile(leg, target="numpy"), leg.neutral(), np.ones(leg.nv)
    bare = lw.compile(leg.with_elements("frictions", []), target="numpy")
    expected = bare.forward_dynamics(q, ones, ones)
    assert (d.forward_dynamics(q, ones, ones) == expected).all()
    assert (bare.forward_dynamics(q, ones, ones, friction=True) == expected).all()
    with pytest.raises(lw.LinkworkError, match="friction must be True or False; got 'yes'"):
        d.forward_dynamics(q, ones, ones, friction="yes")  # type: ignore[arg-type]


def block(mu: float = 0.3, mu_static: float | None = None, **more: float) -> lw.Mechanism:
    b = lw.Builder("block").body("block", 2.0, inertia=(0.1, 0.1, 0.1))
    return b.joint(
        "rail", lw.Prismatic((1, 0, 0)), "world", "block", friction=lw.Guide(mu, 1.0, mu_static=mu_static, **more)
    ).build()


def test_a_block_at_rest_sticks_up_to_the_static_friction_of_its_load() -> None:
    """It holds at 99.9999 % of mu_static N, and slides at 100.0001 % with mu; the threshold follows the load."""
    d = lw.compile(block(0.3, 0.4), target="numpy")
    for press in (0.0, 50.0):
        wrench = np.array([[0.0, 0.0, -press, 0.0, 0.0, 0.0]])
        load = 2.0 * 9.81 + press
        push = np.array([[-1.0], [-1e-6], [1.0]]) * 0.4 * load * np.array([[0.999999], [1.0], [1.000001]])
        a = d.forward_dynamics(np.zeros(1), np.zeros(1), push, wrench, friction=True)
        assert a[0] == a[1] == 0.0
        assert a[2] == pytest.approx((push[2] - 0.3 * load) / 2.0, rel=1e-12)
        f = d.friction(np.zeros(1), np.zeros(1), push, wrench)
        assert f[:2] == pytest.approx(-push[:2], rel=1e-12)


def test_parameters_of_friction_laws_vary_in_a_batch() -> None:
    d = lw.compile(block(), parameters=["rail.mu"])
    mu = np.array([0.0, 0.1, 0.3])
    a = d.forward_dynamics(np.zeros(1), np.ones(1), np.zeros(1), friction=True, parameters={"rail.mu": mu})
    assert a[:, 0] == pytest.approx(-mu * 9.81, rel=1e-13)
    with pytest.raises(lw.ModelError, match=r"parameter 'rail\.mu': must be >= 0; got -1"):
        d.forward_dynamics(np.zeros(1), np.ones(1), np.zeros(1), friction=True, parameters={"rail.mu": [-1.0]})


def test_dynamics_with_friction_true_include_friction_given_as_a_number() -> None:
    b = lw.Builder(gravity=(0, 0, 0)).body("wheel", 1.0, inertia=(1, 1, 1))
    d = lw.compile(b.joint("hub", lw.Revolute(), "world", "wheel", friction=0.5).build(), parameters=["hub.friction"])
    tau = np.array([[0.4], [0.6], [-0.6]])
    a = d.forward_dynamics(np.zeros(1), np.zeros(1), tau, friction=True)
    assert a[:, 0] == pytest.approx([0.0, 0.1, -0.1], abs=1e-15)
    more = d.forward_dynamics(np.zeros(1), np.zeros(1), tau, friction=True, parameters={"hub.friction": [1.0]})
    assert not more.any()


def overhung(mu: float) -> lw.Mechanism:
    """A slide whose centre of mass is 1 m beside its short guide of 0.5 m."""
    b = lw.Builder("overhung", gravity=(0, 0, 0)).body("slide", 2.0, com=(0.0, 1.0, 0.0), inertia=(0.001, 0.001, 0.001))
    return b.joint("guide", lw.Prismatic((1, 0, 0)), "world", "slide", friction=lw.Guide(mu, 0.5)).build()


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_a_slide_jams_if_mu_exceeds_half_its_length_over_the_load_offset(target: str) -> None:
    """A force P < 0 slows the slide: m a = P - mu 2 |m a e| / L, because the inertial couple m a e loads the guide.

    At 2 mu e / L >= 1, friction grows as fast as the force, and no unique acceleration exists.
    """
    state = np.zeros(1), np.ones(1)
    for mu in (0.1, 0.249):
        d = lw.compile(overhung(mu), target=target)
        a = d.forward_dynamics(*state, [[-3.0]], friction=True)
        assert a[0, 0] == pytest.approx(-3.0 / (2.0 * (1.0 - 2.0 * mu * 1.0 / 0.5)), rel=1e-10)
    d = lw.compile(overhung(0.26), target=target)
    with pytest.raises(lw.NotConverged, match="no unique solution: the friction of joint 'guide' is consistent"):
        d.forward_dynamics(*state, [-3.0], friction=True)
    unchecked = lw.compile(overhung(0.26), target=target, check=False)
    assert np.isnan(unchecked.forward_dynamics(*state, [-3.0], friction=True)).all()
    begins = d.forward_dynamics(np.zeros(1), np.zeros(1), [-3.0], friction=True)  # from rest, friction is against P
    assert begins[0] == pytest.approx(-3.0 / (2.0 * (1.0 + 2.0 * 0.26 * 1.0 / 0.5)), rel=1e-10)


def test_a_linkage_at_rest_sticks_up_to_the_friction_of_all_pins_and_slips_above_it() -> None:
    """A parallelogram crank with four equal pins whose friction torques are constant: they add up."""
    b = lw.Builder("parallelogram", gravity=(0, 0, 0))
    for name in ("left", "right", "rod"):
        b.body(name, 1.0, inertia=(0.1, 0.1, 0.1))
    y = lw.Revolute((0, 1, 0))
    friction = lw.DryFriction(0.5)
    b.joint("a", y, "world", "left", friction=friction).joint("b", y, "left", "rod", at=(0, 0, 1), friction=friction)
    b.joint("c", y, "world", "right", at=(2, 0, 0), friction=friction)
    b.close("d", y, "rod", "right", at=(2, 0, 0), to=(0, 0, 1)).friction("d", friction)
    found = lw.compile(b.build(), target="numpy")
    rest = np.zeros(3)
    for torque, moves in ((1.99, False), (2.01, True), (-2.01, True)):
        a = found.forward_dynamics(rest, rest, [torque, 0.0, 0.0], friction=True)
        assert (np.abs(a).max() > 1e-4) == moves
        assert moves or np.abs(a).max() < 1e-9


def test_friction_forces_reproduce_accelerations_of_mimic_joints_at_rest_and_in_motion() -> None:
    m = with_random_laws(tree_with_mimics(6), 6, 0.3)
    s, d = state(m, 6), lw.compile(m, target="numpy")
    for v in (s.v, 0.0 * s.v):
        a = d.forward_dynamics(s.q, v, s.tau, s.wrenches, friction=True)
        f: Array = d.friction(s.q, v, s.tau, s.wrenches)
        assert relative(d.forward_dynamics(s.q, v, s.tau + f, s.wrenches), a) < 1e-9
    a = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches, friction=True)
    assert relative(d.inverse_dynamics(s.q, s.v, a, s.wrenches, friction=True), s.tau) < 1e-9


@pytest.mark.parametrize("ratio", [1.0, 1.6])
def test_teeth_of_a_gear_pair_lose_the_textbook_fraction_of_power(ratio: float) -> None:
    """Loss mu pi (1/z1 + 1/z2) H of the power, H = 1 - c + c^2 / 2, per force (tau - friction) / r at the teeth."""
    mu, module, z1, z2, speed, torque = 0.08, 0.002, 20, 40, 30.0, 2.0
    b = lw.Builder("gears", gravity=(0, 0, 0))
    for name, x in (("pinion", 0.0), ("wheel", module * (z1 + z2) / 2)):
        b.body(name, 1.0, inertia=(0.1, 0.1, 0.1)).joint(name, lw.Revolute(), "world", name, at=(x, 0, 0))
    b.close("mesh", lw.Gear(z1, z2, phase=lw.Gear(z1, z2).phase), "pinion", "wheel")
    m = b.friction("mesh", lw.Teeth(mu, np.radians(20), module, ratio)).build()
    d = lw.compile(m, target="numpy")
    q = d.assemble(np.array([0.0, 0.0]))
    v, lever = speed * np.array([1.0, -z1 / z2]), mu * module * np.pi / 2.0 * (1.0 - ratio + ratio**2 / 2.0)
    radius = module * z1 / 2
    force = torque / (radius + lever)  # at the teeth, in steady rotation
    load = force * (module * z2 / 2 - lever)
    a = d.forward_dynamics(q, v, [torque, load], friction=True)
    assert np.abs(a).max() < 1e-10
    loss = -v @ d.friction(q, v, [torque, load]) / (torque * speed)
    assert loss == pytest.approx(mu * np.pi * (1 / z1 + 1 / z2) * (1.0 - ratio + ratio**2 / 2.0) / (1 + lever / radius))


def worm(mu: float, radius: float, lead: float, wheel_radius: float = 0.05) -> lw.Mechanism:
    """A worm gear: the worm is a screw whose nut does not turn; the nut is the rack on which the wheel rolls."""
    pitch = radius * np.tan(lead)
    b = lw.Builder("worm gear", gravity=(0, 0, 0))
    b.body("worm", 0.5, inertia=(1e-3, 1e-3, 1e-3)).joint("worm", lw.Revolute(), "world", "worm")
    b.body("nut", 1e-3, inertia=(1e-7, 1e-7, 1e-7))
    b.joint("thread", lw.Screw(pitch=pitch), "worm", "nut", friction=lw.Thread(mu, radius)).mimic(
        "thread", "worm", -1.0
    )
    b.body("wheel", 1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("wheel", lw.Revolute((0, 1, 0)), "world", "wheel", at=(wheel_radius, 0, 0))
    return b.close("mesh", lw.Rack(wheel_radius, (0, 1, 0), (0, 0, 1)), "wheel", "nut").build()


@pytest.mark.parametrize("lead", [0.05, 0.3])
def test_a_worm_gear_has_the_textbook_efficiency_in_both_directions(lead: float) -> None:
    """tan(lead) / tan(lead + phi) when the worm drives, tan(lead - phi) / tan(lead) when the wheel drives."""
    mu, radius = 0.1, 0.01
    m = worm(mu, radius, lead)
    d, phi, ratio = lw.compile(m, target="numpy"), np.arctan(mu), radius * np.tan(lead) / 0.05
    q = d.assemble(np.zeros(2))
    sign = np.sign(d.constraint_jacobian(q)[0]) * np.array([1.0, -1.0])
    v = np.array([10.0, 10.0 * ratio * sign[0] * sign[1]])
    for direction in (1.0, -1.0):
        drive = 0.05 / radius / np.tan(lead + direction * phi)  # torque on the wheel per torque on the worm
        load = -direction * np.array([-1.0 / drive, sign[0] * sign[1]])
        a = d.forward_dynamics(q, direction * v, load * direction, friction=True)
        assert np.abs(a).max() < 1e-6 * 10.0
    if lead < phi:  # self-locking: no torque on the wheel turns the worm
        held = d.forward_dynamics(q, 0.0 * v, [0.0, 50.0], friction=True)
        assert np.abs(held).max() < 1e-9


@pytest.mark.parametrize("case", ["moving", "partly at rest", "mimic joints"])
def test_derivatives_with_friction_match_central_differences(leg: lw.Mechanism, case: str) -> None:
    m = with_random_laws(tree_with_mimics(3), 3, 0.3) if case == "mimic joints" else leg
    rng = np.random.default_rng(4)
    q, v, tau = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    if case == "partly at rest":
        v[6:9], tau[6:9] = 0.0, 1e-3  # the hip and the knee hold or begin to slip
    d = lw.compile(m)

    def forward(x: Array) -> Array:
        dq, dv, dtau = np.split(x, 3)
        return d.forward_dynamics(m.integrate(q, dq), v + dv, tau + dtau, friction=True)

    a = d.forward_dynamics(q, v, tau, friction=True)

    def inverse(x: Array) -> Array:
        dq, dv, da = np.split(x, 3)
        return d.inverse_dynamics(m.integrate(q, dq), v + dv, a + da, friction=True)

    resting = range(m.nv + 6, m.nv + 9)
    for function, third, method in (
        (forward, tau, d.forward_dynamics_derivatives),
        (inverse, a, d.inverse_dynamics_derivatives),
    ):
        found = np.concatenate(method(q, v, third, friction=True), axis=-1)
        h = 1e-6
        expected = np.array([(function(h * e) - function(-h * e)) / (2.0 * h) for e in np.eye(3 * m.nv)]).T
        if case == "partly at rest":  # a velocity from rest changes the direction of slip, and is no derivative
            if function is inverse:
                continue
            found[:, resting] = expected[:, resting] = 0.0
        assert relative(found, expected) < 1e-6


def test_friction_at_the_world_removes_the_symmetries_along_its_slip() -> None:
    b = lw.Builder("free", gravity=(0, 0, 0)).body("body", 2.0, inertia=(0.1, 0.1, 0.1))
    free = b.joint("free", lw.Free(), "world", "body").close("rail", lw.Cylindrical((1, 0, 0)), "world", "body").build()
    assert {one.momentum for one in free.symmetries()} == {"momentum along x", "angular momentum about x"}
    assert not b.friction("rail", lw.Sleeve(0.1, 0.02)).build().symmetries()
    assert not block().symmetries()
