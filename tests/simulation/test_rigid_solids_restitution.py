"""Restitution of rigid solids: closed forms, and impacts that must not add energy."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw

G = 9.81


def falling(shapes: dict[str, Any], gravity: float = G, **force_law: float) -> lw.Mechanism:
    """Bodies of 1 kg with one shape each above a plane, which do not touch each other."""
    b = lw.Builder(gravity=(0, 0, -gravity)).surface("floor", lw.Plane())
    for name, shape in shapes.items():
        b.body(name, 1.0, inertia=(0.004, 0.005, 0.006)).joint(name, lw.Free(), "world", name)
        b.geometry(name, shape, role="collision")
    return b.collide("all", against="floor", **force_law).build()


@pytest.mark.slow
def test_bounce_height_and_energy_agree_with_the_restitution() -> None:
    m = falling({"ball": lw.Sphere(0.1)}, restitution=0.0)
    given = np.array([1.0, 0.5, 0.0])
    run = lw.simulate(
        m,
        [0, 0, 0.4, 1, 0, 0, 0],
        [0.3, 0, 0, 1, 2, 3],
        1.5,
        5e-4,
        contact="rigid",
        parameters={"all.restitution": given},
    ).check()
    energy = np.add(*lw.compile(m).energy(run.q, run.v))
    assert np.abs(energy[0] - energy[0, 0]).max() < 1e-9 * energy[0, 0]
    first = np.sqrt(2 * 0.3 / G)
    for k, e in enumerate(given):
        flight = (run.t > first + 1e-3) & (run.t < first + 2 * e * np.sqrt(2 * 0.3 / G))
        top = run.q[k, flight, 2].max(initial=0.1) - 0.1
        assert top == pytest.approx(0.3 * e * e, abs=2e-3 * e)


def test_impacts_of_boxes_coins_and_capsules_add_no_energy() -> None:
    """Tumbling bodies with random spins; between impacts, the error of a rolling rim is proportional to the step."""
    m = falling(
        {"box": lw.Box((0.2, 0.3, 0.1)), "coin": lw.Cylinder(0.1, 0.02), "rod": lw.Capsule(0.05, 0.3)}, friction=0.4
    )
    rng, count = np.random.default_rng(1), 8
    q0 = np.zeros((count, 3, 7))
    q0[..., 2], q0[..., 3:] = 0.3, rng.normal(size=(count, 3, 4))
    q0[..., 3:] /= np.linalg.norm(q0[..., 3:], axis=-1, keepdims=True)
    v0 = rng.normal(size=(count, 3, 6)) * [1, 1, 1, 5, 5, 5]
    given = np.repeat([1.0, 0.6], count // 2)
    run = lw.simulate(
        m, q0.reshape(count, -1), v0.reshape(count, -1), 0.6, 1e-3, contact="rigid",
        parameters={"all.restitution": given}, record=("q", "v", "work", "contact.state"),
    ).check()  # fmt: skip
    energy = np.add(*lw.compile(m).energy(run.q, run.v))
    hits = (run["contact.state"][:, 1:] > 1.0).any(axis=2)
    assert hits.sum() > 100
    gain = np.diff(energy, axis=1)
    assert gain.max() < 1e-4  # of about 8 J
    assert (energy[:, -1] < energy[:, 0]).all()
    assert np.abs(run["work"] - (energy - energy[:, :1])).max() < 1e-3


def test_impacts_of_a_sliding_box_satisfy_the_contact_conditions() -> None:
    """Three corners of a box that slides land at 0.667 s; friction then changes the slip by more than any drift."""
    size = (0.2, 0.1, 0.15)
    b = lw.Builder("drop", gravity=(0, 0, -G)).surface("table", lw.Plane())
    b.body("box", 1.0, inertia=np.array([0.1**2 + 0.15**2, 0.2**2 + 0.15**2, 0.2**2 + 0.1**2]) / 12)
    b.joint("free", lw.Free(), "world", "box").geometry("box", lw.Box(size), role="collision")
    m = b.collide("all", friction=0.4, restitution=0.2).build()
    turned = [0.08859819663832731, 0.09012385804352548, 0.8782721487021962, -0.461157329528453]
    run = lw.simulate(m, [0, 0, 0.8448002377821602, *turned], duration=0.8, dt=1e-3, contact="rigid").check()
    row = run.report()["contact residual"]
    assert row.verdict == "ok"
    assert float(row.value) < 2e-4  # m/s; 1e-4 of the speeds
    assert np.abs(run.v[-1]).max() < 1e-9


@pytest.mark.slow
def test_oblique_impact_of_a_rod_adds_no_energy() -> None:
    """Newton's law of restitution alone would add energy (Kane 1984)."""
    b = lw.Builder("kane", gravity=(0, 0, 0)).surface("floor", lw.Plane(), at=(0, 0, 0))
    for name, parent, at in (("upper", "world", (0, 0, 1.8)), ("lower", "upper", (0, 0, -1.0))):
        b.body(name, 1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-6))
        b.joint(name, lw.Revolute(axis=(0, 1, 0)), parent, name, at=at)
    b.geometry("lower", lw.Sphere(0.01), at=(0, 0, -0.99), role="collision")
    m = b.collide("tip", friction=0.7, restitution=0.9).build()
    rng = np.random.default_rng(0)
    upper = rng.uniform(-1.0, 1.0, 200)
    lower = np.arccos(np.clip((1.79 - np.cos(upper)) / 0.99, -1, 1)) * rng.choice([-1, 1], 200) - upper
    fits = np.abs(1.79 - np.cos(upper)) < 0.99
    q0, v0 = np.column_stack([upper, lower])[fits], rng.normal(size=(fits.sum(), 2))
    run = lw.simulate(m, q0, v0, 1e-3, 1e-3, contact="rigid", record=("q", "v", "work", "contact.state")).check()
    hit = run["contact.state"][:, -1, 0] > 1.0
    assert hit.sum() > 30
    assert (run["work"][:, -1] < 1e-13).all()
    assert (np.abs(run["work"][hit, -1]) < 1e-12).any()  # some would have won energy, and now conserve it


@pytest.mark.slow
def test_colliding_solids_conserve_momentum_and_energy() -> None:
    """Two boxes that meet face to face, and an eccentric hit of a ball on a capsule, without friction."""
    b = lw.Builder(gravity=(0, 0, 0))
    shapes = {
        "a": lw.Box((0.2, 0.2, 0.2)),
        "b": lw.Box((0.2, 0.3, 0.2)),
        "c": lw.Sphere(0.1),
        "d": lw.Capsule(0.1, 0.6),
    }
    for k, (name, shape) in enumerate(shapes.items()):
        b.body(name, 1.0 + k, inertia=(0.01, 0.02, 0.015)).joint(name, lw.Free(), "world", name)
        b.geometry(name, shape, role="collision")
    m = b.collide("all", pairs=[("a", "b"), ("c", "d")], restitution=1.0).build()
    q0 = np.tile([0.0, 0, 0, 1, 0, 0, 0], (4, 1))
    q0[:, 0], q0[2:, 1], q0[2, 2] = [0, 0.3, 0, 0.3], 5.0, 0.1
    v0 = np.zeros((4, 6))
    v0[::2, 0] = 1.0
    run = lw.simulate(m, q0.ravel(), v0.ravel(), 0.3, 1e-3, contact="rigid").check()
    v = run.v[-1].reshape(4, 6)
    assert v[:2, 0] == pytest.approx([(1.0 - 2.0) / 3.0, 2.0 / 3.0], abs=1e-12)
    assert np.abs(v[:2, 1:]).max() < 1e-12
    energy = np.add(*lw.compile(m).energy(run.q, run.v))
    assert energy == pytest.approx(np.full(len(run.t), energy[0]), rel=1e-11)
    assert run.momentum == pytest.approx(np.tile(run.momentum[0], (len(run.t), 1)), abs=1e-9)
    assert np.linalg.norm(v[3, 3:]) > 0.1  # the hit is eccentric


def test_contact_solver_converges_while_bouncing_boxes_settle() -> None:
    """In the last bounces on a face, the separation speeds of its corners contradict each other by small errors."""
    b = lw.Builder(gravity=(0, 0, -9.81)).surface("floor", lw.Plane()).body("box", 1.0, inertia=(0.01, 0.013, 0.005))
    b.joint("free", lw.Free(), "world", "box").geometry("box", lw.Box((0.2, 0.1, 0.3)), role="collision")
    m = b.collide("all", friction=0.5, restitution=0.5).build()
    rng, count = np.random.default_rng(0), 32
    q = rng.normal(size=(count, 7))
    q[:, :3] = [0, 0, 1]
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    v = rng.normal(size=(count, 6)) * [1, 1, 1, 10, 10, 10]
    run = lw.simulate(m, q, v, 2.0, 1e-3, contact="rigid", record=("q", "v", "iterations")).check()
    assert run["iterations"].max() < 400  # the limit of one solution; each step needs two
    assert (run["iterations"] > 100).mean() < 1e-4
