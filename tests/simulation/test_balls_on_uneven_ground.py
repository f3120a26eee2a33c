"""Balls in bowls have the periods of pendulums, and balls conserve energy on the ridge of a height field."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicHermiteSpline
from scipy.special import ellipk

import linkwork as lw
from linkwork.spatial.scalar import Array

G = 9.81
RADIUS = 0.3


def ball(ground: lw.HeightField | lw.Ground, radius: float = RADIUS, **options: Any) -> lw.Mechanism:
    """A solid sphere of 1 kg on the ground."""
    b = lw.Builder("ball", gravity=(0, 0, -G)).body("ball", 1.0, inertia=0.4 * radius**2 * np.ones(3))
    b.joint("free", lw.Free(), "world", "ball").surface("ground", ground)
    return b.touch("skin", "ball", radius=radius, **options).build()


def stiff(rolls: bool) -> dict[str, Any]:
    """Compliant contact that a weight of 1 kg presses in by 1e-5 m, critically damped."""
    return {"stiffness": G * 1e5, "damping": 2 * np.sqrt(G * 1e5), "friction": 0.8 * rolls}


def period(run: lw.Run) -> float:
    """Time [s] between the first two passages of x = 0 with increasing x."""
    x = CubicHermiteSpline(run.t, run.q[:, 0], run.v[:, 0])
    zeros = [t for t in x.roots(extrapolate=False) if x(t, 1) > 0.0]
    return zeros[1] - zeros[0]


@pytest.mark.parametrize("rolls", [False, True])
@pytest.mark.parametrize("contact", ["compliant", "rigid"])
def test_ball_in_a_spherical_bowl_has_the_period_of_a_pendulum(contact: str, rolls: bool) -> None:
    bowl = lw.Ground(lambda x, y: 1.0 - np.sqrt(1.0 - x * x - y * y))
    length, angle = 1.0 - RADIUS, 0.2
    m = ball(bowl, **(stiff(rolls) if contact == "compliant" else {"friction": 0.8 * rolls}))
    start = [length * np.sin(angle), 0, 1.0 - length * np.cos(angle), 1, 0, 0, 0]
    run = lw.simulate(m, start, duration=4.0, dt=5e-4, contact=contact)
    inertia = 1.4 if rolls else 1.0  # a rolling sphere has 7/5 of the inertia
    exact = 4.0 * np.sqrt(inertia * length / G) * ellipk(np.sin(angle / 2) ** 2)
    assert period(run) == pytest.approx(exact, rel=1.2e-5)


def parabola_period(curvature: float, radius: float, top: float) -> float:
    """Period [s] of a frictionless ball on z = curvature x^2 / 2 that turns when its foot point is at x = `top` [m].

    The centre moves on the parallel curve; with x = top sin(a) the integrand has no singularity.
    """

    def integrand(a: float) -> float:
        x = top * np.sin(a)
        here, there = np.hypot(1.0, curvature * x), np.hypot(1.0, curvature * top)
        rate = here - radius * curvature / here**2  # of the path of the centre by x
        fall = curvature / 2 - radius * curvature**2 / ((here + there) * here * there)  # divided by top^2 - x^2
        return rate / np.sqrt(2.0 * G * fall)

    return 4.0 * quad(integrand, 0.0, 0.5 * np.pi, epsabs=1e-13)[0]


@pytest.mark.parametrize("contact", ["compliant", "rigid"])
def test_ball_in_a_parabola_has_the_period_of_its_centre(contact: str) -> None:
    curvature, top = 1.5, 0.4
    m = ball(lw.Ground(lambda x, y: 0.5 * curvature * x * x), **(stiff(False) if contact == "compliant" else {}))
    long = np.hypot(1.0, curvature * top)
    start = [top - RADIUS * curvature * top / long, 0, 0.5 * curvature * top**2 + RADIUS / long, 1, 0, 0, 0]
    small = 2.0 * np.pi * np.sqrt((1.0 / curvature - RADIUS) / G)
    assert parabola_period(curvature, RADIUS, 1e-4) == pytest.approx(small, rel=1e-7)  # checks the closed form
    exact = parabola_period(curvature, RADIUS, top)
    coarse, fine = (period(lw.simulate(m, start, duration=3.0, dt=dt, contact=contact)) for dt in (5e-4, 2.5e-4))
    if contact == "compliant":
        assert fine == pytest.approx(exact, rel=2e-5)
    else:  # of order one where the curvature changes, so the extrapolated period is exact
        assert fine == pytest.approx(exact, rel=3e-4)
        assert 2.0 * fine - coarse == pytest.approx(exact, rel=2e-5)


def over_the_ridge(dt: float, rolls: bool, **options: Any) -> tuple[Array, lw.Run]:
    """A ball passes a ridge with slopes of 0.15; the energy [J] relative to that at the start, and the run."""
    radius, slope, speed = 0.2, 0.15, 1.3
    x = np.linspace(-2.0, 2.0, 9)
    ridge = lw.HeightField((4.0, 4.0), np.repeat(-slope * np.abs(x)[:, None], 5, axis=1))
    up, n = np.array([1.0, 0.0, slope]) / np.hypot(1.0, slope), np.array([-slope, 0.0, 1.0]) / np.hypot(1.0, slope)
    rigid = options.get("contact") == "rigid"
    contact = {} if rigid else {"stiffness": 1e5}
    m = ball(ridge, radius, friction=0.8 * rolls, **contact)
    centre = np.array([-0.4, 0.1, -0.4 * slope]) + n * (radius - (0.0 if rigid else G * n[2] / 1e5))
    spin = np.cross(n, speed * up) / radius * rolls
    run = lw.simulate(m, [*centre, 1, 0, 0, 0], [*speed * up, *spin], duration=0.8, dt=dt, **options)
    energy = run.energy if rigid else run.energy + run["contact.energy"]
    assert run.q[-1, 0] > 0.3  # it is on the other side
    return energy - energy[0], run


@pytest.mark.parametrize("rolls", [False, True])
def test_compliant_ball_conserves_energy_on_a_ridge(rolls: bool) -> None:
    gain, run = over_the_ridge(2.5e-4, rolls, method="variational")
    assert (run["contact.state"][1:] > 1).all()  # it does not leave the ground
    assert abs(gain[-1]) < (2e-5 if rolls else 1e-6)  # 1.2 J and 0.8 J of kinetic energy


@pytest.mark.parametrize("rolls", [False, True])
def test_rigid_ball_loses_energy_on_a_ridge_with_the_square_of_the_step(rolls: bool) -> None:
    losses = []
    for dt in (1e-3, 5e-4):
        gain, _ = over_the_ridge(dt, rolls, contact="rigid")
        assert gain.max() < 1e-5
        losses.append(-gain.min())
    assert losses[0] < 1.5e-4
    assert losses[1] < 0.3 * losses[0]


def test_runs_on_uneven_ground_have_the_same_bits_in_any_batch() -> None:
    x = np.linspace(-1.0, 1.0, 9)
    field = lw.HeightField((2.0, 2.0), 0.05 * np.sin(4 * x)[:, None] * np.cos(3 * x))
    starts = np.array([[0.3 * k / 5 - 0.3, 0.1, 0.4, 1, 0, 0, 0] for k in range(5)])
    for ground in (field, lw.Ground(lambda x, y: 0.05 * np.sin(4 * x) * np.cos(3 * y))):
        m = ball(ground, 0.2, stiffness=2e4, damping=100.0, friction=0.6)
        together = lw.simulate(m, starts, duration=0.4, dt=1e-3, method="semi-implicit")
        for k in (0, 3):
            alone = lw.simulate(m, starts[k], duration=0.4, dt=1e-3, method="semi-implicit")
            assert (together.q[k] == alone.q).all()
