"""Simple closed chains: a main body on several legs that touch the ground, with friction in all joints and loops."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linear_friction_reference import dense_solution, opposing, random_friction
from linkwork.algorithms.formulations.linear_friction import LinearFriction, LoopFriction
from linkwork.algorithms.formulations.propagation import actuator_forces, forward_dynamics
from linkwork.examples import frontal_biped as fb
from linkwork.spatial.scalar import Array
from random_mechanisms import State, random_inertia, relative


def on_legs(legs: int) -> tuple[lw.Mechanism, State]:
    """Return a free body on legs of three freedoms with ball joints at their tips, and a state with closed loops."""
    rng = np.random.default_rng([legs, 31])
    b = lw.Builder(f"body on {legs} legs", gravity=rng.normal(size=3) * 9.81)
    b.body("body", 5.0, com=rng.normal(size=3) * 0.1, inertia=5.0 * random_inertia(rng))
    b.joint("float", lw.Free(), "world", "body")
    q = [lw.Free().random(rng)]
    for k in range(legs):
        for name in (f"thigh {k}", f"shank {k}"):
            b.body(name, 1.0, com=rng.normal(size=3) * 0.1, inertia=random_inertia(rng))
        slide = lw.Revolute(rng.normal(size=3)) if k % 2 else lw.Prismatic(rng.normal(size=3))
        b.joint(f"ankle {k}", lw.Universal(), "world", f"thigh {k}", at=rng.normal(size=3))
        b.joint(f"knee {k}", slide, f"thigh {k}", f"shank {k}", at=rng.normal(size=3) * 0.5)
        q.append(rng.normal(size=3) * 0.6)
    at, open_legs = np.concatenate(q), b.build()
    poses = lw.compile(open_legs, target="numpy").poses(at)
    for k in range(legs):
        to = rng.normal(size=3) * 0.3
        tip = poses[open_legs.bodies.index_of(f"shank {k}") - 1] @ np.append(to, 1.0)
        place = poses[0, :3, :3].T @ (tip[:3] - poses[0, :3, 3])
        b.close(f"tip {k}", lw.Ball(), "body", f"shank {k}", at=place, to=to)
    m = b.build()
    v = lw.compile(m, target="numpy").consistent(at, rng.normal(size=m.nv))
    return m, State(at, v, np.zeros(m.nv), rng.normal(size=m.nv), rng.normal(size=(m.nbodies, 6)))


@pytest.mark.parametrize("legs", range(1, 7))
def test_chains_with_several_legs_match_articulated_bodies(legs: int) -> None:
    m, s = on_legs(legs)
    d = lw.compile(m, target="numpy")
    assert m.check_loops(s.q).mobility == 6
    for main in ("body", f"shank {legs - 1}"):
        found = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, main=[main])
        assert relative(found.a, d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)) < 1e-10
        assert relative(found.reactions, d.reactions(s.q, s.v, s.tau, s.wrenches)) < 1e-10


@pytest.mark.parametrize("legs", range(1, 7))
def test_chains_with_friction_in_several_legs_match_a_dense_solution(legs: int) -> None:
    m, s = on_legs(legs)
    friction = opposing(random_friction(m, s.q, legs), lambda f: forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, f))
    found, expected = forward_dynamics(m, s.q, s.v, s.tau, s.wrenches, friction), dense_solution(m, s, friction)
    assert relative(found.a, expected.a) < 1e-10
    assert relative(found.friction, expected.friction) < 1e-10
    assert relative(found.reactions[: len(m.joints)], expected.reactions) < 1e-10


@pytest.mark.parametrize("legs", [1, 3, 6])
def test_knees_and_ankles_of_legs_with_friction_produce_any_motion_of_the_body(legs: int) -> None:
    m, s = on_legs(legs)
    a = lw.compile(m, target="numpy").forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    actuated = [j.name for j in m.joints if j.name != "float"]
    if legs == 1:  # three freedoms cannot move a body with six
        with pytest.raises(lw.LinkworkError, match="cannot produce this motion; actuate more joints"):
            actuator_forces(m, s.q, s.v, a, actuated, s.wrenches)
        return

    def solve(friction: LinearFriction) -> Array:
        return actuator_forces(m, s.q, s.v, a, actuated, s.wrenches, friction).tau

    friction = opposing(random_friction(m, s.q, legs), solve)
    tau = solve(friction)
    assert relative(forward_dynamics(m, s.q, s.v, tau, s.wrenches, friction).a, a) < 1e-9
    assert np.abs(tau[:6]).max() == 0.0


def test_biped_with_friction_at_its_pins_satisfies_the_papers_equations() -> None:
    """Friction torques enter the balances of the paper as additional motor torques; redundant rows have no effect."""
    m, rng = fb.build(), np.random.default_rng(5)
    for lean in (-0.1, 0.05, 0.2):
        theta = fb.angles(lean)
        omega, u = fb.rates(theta, 0.7), rng.normal(size=3) * 30.0
        state = fb.relative(theta), fb.relative(omega), u
        rows = {name: np.append(rng.normal(size=2) * 0.02, np.zeros(4))[None] for name in fb.NAMES}
        at_loop = np.zeros((6, 6))
        at_loop[5, :2] = rng.normal(size=2) * 0.02
        loops = {"right ankle": LoopFriction(at_loop, np.zeros(6))}
        friction = opposing(
            LinearFriction(rows, loops=loops), lambda f, state=state: forward_dynamics(m, *state, friction=f)
        )
        found = forward_dynamics(m, *state, friction=friction)
        # the loop's friction torque about +z on the right leg; motor torques are clockwise
        on_right_leg = friction.loops["right ankle"].coupling[5] @ found.reactions[3]
        expected = fb.equations(theta, omega, np.append(u + found.friction, on_right_leg))
        assert relative(np.cumsum(found.a), expected.accelerations) < 1e-10
        assert relative(found.ground[0, [0, 1]], expected.left[:2]) < 1e-10


# --- friction that no mechanism can have ---


def incline(angle: float = 0.7) -> lw.Mechanism:
    b = lw.Builder("incline", gravity=(0, 0, -9.81))
    b.body("slide", 2.0, inertia=(0.1, 0.1, 0.1))
    b.joint("rail", lw.Prismatic((1, 0, 0)), "world", "slide", rpy=(0, angle, 0))
    return b.build()


def test_friction_that_creates_energy_raises_an_error_that_names_the_joint() -> None:
    """The same coupling opposes the slip down the incline, and would drive the slip up the incline."""
    friction = LinearFriction({"rail": np.array([[0.0, 0.0, -0.3, 0.0, 0.0, 0.0]])})
    zero = np.zeros(1)
    forward_dynamics(incline(), zero, np.ones(1), zero, None, friction)
    forward_dynamics(incline(), zero, zero, zero, None, friction)  # about to slip: no power yet
    power = 0.3 * 2.0 * 9.81 * np.cos(0.7)
    with pytest.raises(
        lw.LinkworkError, match=rf"creates energy: its power is {power:.3g} W at joint 'rail', expected <= 0 W.*reverse"
    ):
        forward_dynamics(incline(), zero, -np.ones(1), zero, None, friction)
    with pytest.raises(lw.LinkworkError, match=r"creates energy: its power is 0.5 W at joint 'rail'"):
        forward_dynamics(incline(), zero, np.ones(1), zero, None, LinearFriction(constant={"rail": np.array([0.5])}))


def test_friction_that_creates_energy_in_a_loop_raises_an_error_that_names_the_loop() -> None:
    m = lw.example("four_bar")
    start = m.keyframes["start"]
    spin = start.v[2] - start.v[0] - start.v[1]  # of the rocker relative to the coupler

    def solve(torque: float) -> None:
        pin = LoopFriction(np.zeros((6, 6)), np.array([0.0, 0.0, 0.0, 0.0, 0.0, torque]))
        forward_dynamics(m, start.q, start.v, np.zeros(3), None, LinearFriction(loops={"closing pin": pin}))

    solve(-2.0 * np.sign(spin))
    power = f"{2.0 * abs(spin):.3g} W at loop 'closing pin'"
    with pytest.raises(lw.LinkworkError, match=rf"creates energy: its power is {power}, expected <= 0 W"):
        solve(2.0 * np.sign(spin))


def test_slide_on_a_guide_jams_when_twice_mu_times_height_reaches_the_guide_length() -> None:
    """A slide with its mass at a height h over a guide of length l: a = F / (m (1 - 2 mu h / l)), until 2 mu h = l.

    The moment m a h presses the ends of the guide with m a h / l each. Beyond the limit, a slide that slips would need
    friction that creates energy.
    """
    length, height = 0.5, 0.5
    b = lw.Builder("brake", gravity=(0, 0, 0))
    b.body("slide", 3.0, com=(0.0, height, 0.0), inertia=(0.1, 0.1, 0.1))
    b.joint("guide", lw.Prismatic((1, 0, 0)), "world", "slide")
    m = b.build()

    def acceleration(mu: float) -> float:
        friction = LinearFriction({"guide": np.array([[0.0, 0.0, 0.0, 0.0, 0.0, -2.0 * mu / length]])})
        return float(forward_dynamics(m, np.zeros(1), -np.ones(1), np.full(1, 6.0), None, friction).a[0])

    for mu in (0.0, 0.25, 0.49):
        assert acceleration(mu) == pytest.approx(6.0 / (3.0 * (1.0 - 2.0 * mu * height / length)), rel=1e-12)
    with pytest.raises(lw.LinkworkError, match="no unique solution: a joint is at the limit at which it jams"):
        acceleration(0.5)
    with pytest.raises(
        lw.LinkworkError, match=r"creates energy: .* W at joint 'guide', .* limit at which the joint jams"
    ):
        acceleration(0.75)


def test_friction_coefficients_that_are_not_finite_are_rejected() -> None:
    with pytest.raises(lw.NonFinite, match=r"friction coupling of joint 'rail'\[0, 2\] is nan"):
        forward_dynamics(
            incline(),
            np.zeros(1),
            np.ones(1),
            np.zeros(1),
            None,
            LinearFriction({"rail": np.array([[0, 0, np.nan, 0, 0, 0]])}),
        )
