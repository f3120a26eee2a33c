"""Rigid solids together with point contacts, brakes, ratchets and mimic joints, in one mechanism."""

import numpy as np
import pytest

import linkwork as lw

G = 9.81
CUBE = lw.Box((0.2, 0.2, 0.2))


def add_cube(b: lw.Builder, name: str, mass: float) -> lw.Builder:
    """Add a free cube of 0.2 m."""
    b.body(name, mass, inertia=np.full(3, mass * 0.04 / 6)).joint(name, lw.Free(), "world", name)
    return b.geometry(name, CUBE, role="collision")


def test_cubes_on_rams_with_brakes_and_a_ratchet_have_closed_form_forces() -> None:
    """A brake of 20 N lets ram and cube fall with g - c / (M + m); 60 N and a ratchet hold them."""
    b, pairs = lw.Builder(gravity=(0, 0, -G)), []
    for k in range(3):
        b.body(f"ram {k}", 3.0, inertia=(0.01, 0.01, 0.01))
        b.joint(f"slide {k}", lw.Prismatic((0, 0, 1)), "world", f"ram {k}", at=(k, 0, 0))
        add_cube(b.geometry(f"ram {k}", CUBE, role="collision"), f"cube {k}", 1.0)
        pairs.append((f"cube {k}", f"ram {k}"))
    b.brake("weak", "slide 0", capacity=20.0, engaged=True).brake("strong", "slide 1", capacity=60.0, engaged=True)
    m = b.ratchet("pawl", "slide 2").collide("all", pairs=pairs, friction=0.5).build()
    q0 = [x for k in range(3) for x in (0.0, k, 0, 0.2, 1, 0, 0, 0)]
    record = ("q", "v", "slip", "contact.force", "contact.wrenches", "contact.state", "work")
    run = lw.simulate(m, q0, duration=0.3, dt=1e-3, contact="rigid", record=record).check()
    normal = run["contact.force"][5:, :, 2].reshape(-1, 3, 4).sum(axis=2)
    assert normal == pytest.approx(np.tile([5.0, G, G], (len(normal), 1)), abs=1e-9)
    assert np.abs(run["contact.force"][5:, :, :2]).max() < 1e-9
    assert run.q[-1, 0] == pytest.approx(-0.5 * (G - 5.0) * 0.09, abs=1e-12)
    assert np.abs(run.q[-1, [8, 16]]).max() < 1e-12
    names = [item.name for item in m.bounded]
    assert dict(zip(names, run["slip"][-1], strict=True)) == {"weak": -1.0, "strong": 0.0, "pawl": 0.0}
    carried = dict(zip([item.name for item in m.constraints], run["carried"][-1], strict=True))
    assert [carried[name] for name in ("weak", "strong", "pawl")] == pytest.approx([20.0, 4 * G, 4 * G], abs=1e-9)
    assert ["weak" in event.what for event in run.events] == [True]
    energy = np.add(*lw.compile(m).energy(run.q, run.v))
    assert run["work"] == pytest.approx(energy - energy[0], abs=1e-9)


@pytest.mark.slow
def test_table_on_feet_with_a_sliding_cube_and_a_rolling_ball_has_closed_form_speeds() -> None:
    """The feet are point contacts; the cube slides on the table, which slides on its feet."""
    b = lw.Builder(gravity=(0, 0, -G)).surface("floor", lw.Plane())
    b.body("table", 2.0, inertia=(0.2, 0.2, 0.3)).joint("table", lw.Free(), "world", "table")
    b.geometry("table", lw.Box((2.0, 1.0, 0.1)), role="collision")
    for k, (x, y) in enumerate([(0.8, 0.4), (0.8, -0.4), (-0.8, 0.0)]):
        b.touch(f"foot {k}", "table", at=(x, y, -0.5), friction=0.05)
    add_cube(b, "cube", 1.0)
    b.body("ball", 2.0, inertia=(0.008, 0.008, 0.008)).joint("ball", lw.Free(), "world", "ball")
    b.touch("skin", "ball", radius=0.1, friction=0.5, rolling=0.02)
    m = b.collide("top", pairs=[("cube", "table")], friction=0.4).build()
    q0 = [0, 0, 0.5, 1, 0, 0, 0, -0.5, 0, 0.65, 1, 0, 0, 0, 0, 3, 0.1, 1, 0, 0, 0]
    v0 = [0.0] * 6 + [1.0, 0, 0, 0, 0, 0] + [1.0, 0, 0, 0, 10, 0]
    run = lw.simulate(m, q0, v0, 0.15, 1e-3, contact="rigid").check()
    speeds = run.v[:, [0, 6]] - np.column_stack([(0.4 - 0.05 * 3) * G / 2 * run.t, 1.0 - 0.4 * G * run.t])
    assert np.abs(speeds).max() < 1e-10
    force = run["contact.force"][10:, :, 2]
    assert force[:, :3].sum(axis=1) == pytest.approx(np.full(len(force), 3 * G), abs=1e-8)
    assert force[:, 4:].sum(axis=1) == pytest.approx(np.full(len(force), G), abs=1e-8)
    rolled = np.linalg.norm(run.v[:, 12:15], axis=1)
    assert rolled == pytest.approx(1.0 - 5 / 7 * 0.02 * G / 0.1 * run.t, abs=1e-10)
    assert np.abs(run["contact.torque"][10:, 3, 1] + 0.02 * 2 * G).max() < 1e-8  # of the ball
    assert (run["contact.torque"][:, 4:] == 0).all()


@pytest.mark.slow
def test_gripper_with_a_mimic_joint_holds_a_cube_by_friction() -> None:
    """With the grip force F on both fingers together each pushes with F / 2, and friction carries at most mu F."""
    b = lw.Builder(gravity=(0, 0, -G))
    for name, side in (("left", -1.0), ("right", 1.0)):
        b.body(name, 0.5, inertia=(0.01, 0.01, 0.01))
        b.joint(name, lw.Prismatic((1, 0, 0)), "world", name, at=(side * 0.15, 0, 0))
        b.geometry(name, lw.Box((0.1, 0.2, 0.2)), role="collision")
    m = add_cube(b.mimic("right", "left", multiplier=-1.0), "cube", 1.0)
    m = m.collide("grip", pairs=[("cube", "left"), ("cube", "right")], friction=0.5).build()
    grip = 24.0
    friction = np.array([[0.5, 0.5], [0.3, 0.3]])
    run = lw.simulate(
        m, [0.0, 0, 0, 0, 1, 0, 0, 0], duration=0.1, dt=1e-3, contact="rigid", parameters={"grip.friction": friction},
        controller=lambda t, q, v: np.array([grip, 0, 0, 0, 0, 0, 0]),
    ).check()  # fmt: skip
    assert np.abs(run.v[0]).max() < 1e-12
    # The pressures of two pairs are not determined; those found here let the sliding cube turn slowly
    assert run.v[1, -1, 3] == pytest.approx(-(G - 0.3 * grip) * 0.1, abs=1e-5)
    normal = abs(run["contact.force"][:, -1, :, 0]).reshape(2, 2, 4).sum(axis=2)
    assert normal == pytest.approx(np.full((2, 2), grip / 2), abs=1e-8)
    assert run["contact.force"][0, -1, :, 2].sum() == pytest.approx(G, abs=1e-9)
