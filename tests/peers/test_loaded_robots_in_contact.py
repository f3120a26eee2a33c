"""Published robots in contact: a humanoid falls onto the floor, and a hand closes on a box."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.solid_separation import overlaps
from linkwork.model.solids import POINTS
from linkwork.spatial.scalar import Array
from pinocchio_reference import FOLDER

pytest.importorskip("mujoco", reason="MuJoCo is not installed (the extra 'mjcf')")


def loaded(path: Path, **options: object) -> lw.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(path, contacts=True, **options)  # type: ignore[arg-type]


def pair_forces(m: lw.Mechanism, forces: Array) -> dict[str, Array]:
    """Force (..., 3) on the first solid of each pair, from the forces (..., n, 3) of all contact points."""
    of_pairs = forces.reshape(*forces.shape[:-2], -1, POINTS, 3).sum(axis=-2)
    return {pair.name: of_pairs[..., k, :] for k, pair in enumerate(m.solid_pairs)}


@pytest.mark.slow
def test_a_humanoid_falls_and_comes_to_rest_on_the_floor() -> None:
    """The suite's humanoid: self-collisions occur, nothing passes through the floor, the floor carries the weight."""
    found = find_spec("dm_control")
    if found is None or found.origin is None:
        pytest.skip("dm_control is not installed (the extra 'peers')")
    m = loaded(Path(found.origin).parent / "suite" / "humanoid.xml")
    assert len(m.solid_pairs) == 161
    run = lw.simulate(
        m, m.keyframes["qpos0"].q, duration=8.0, dt=2e-3, contact="rigid", record=("q", "v", "contact.force")
    )
    assert run.outcome.kind == "finished"
    forces = pair_forces(m, run["contact.force"])
    floor = sum(force[-1] for name, force in forces.items() if name.endswith(" on floor"))
    assert np.allclose(floor, [0.0, 0.0, float(m.mass) * 9.81], rtol=0.02, atol=0.02 * float(m.mass) * 9.81)
    among = [name for name, force in forces.items() if not name.endswith(" on floor") and np.abs(force).max() > 1.0]
    assert among
    assert np.abs(run.v[-1]).max() < 0.05
    for q in run.q[::100]:
        for one in overlaps(m, m.solid_pairs, q):
            assert one.depth < 0.05 * one.size, one


HAND = FOLDER / "allegro_hand_description" / "urdf" / "allegro_left_hand.urdf"
BOX = """
<link name="box">
  <inertial><mass value="0.1"/><inertia ixx="4e-5" iyy="4e-5" izz="4e-5" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.05 0.05 0.05"/></geometry></collision>
</link>
<joint name="box" type="floating"><parent link="palm_link"/><child link="box"/><origin xyz="0.037 0 -0.005"/></joint>
</robot>"""
FLEXED = np.array([0.0, 1.5, 1.2, 1.2] * 3 + [1.2, 0.3, 0.6, 0.8])  # [rad]
STIFFNESS = 1.0  # of the finger joints [N m/rad]


@pytest.mark.slow
def test_a_hand_closes_on_a_box_and_holds_it(tmp_path: Path) -> None:
    """The palm is below the box first; then gravity turns around, and the closed fingers carry the box."""
    text = re.sub("<dynamics[^>]*>", '<dynamics damping="0.1" friction="0"/>', HAND.read_text())
    (tmp_path / "hand.urdf").write_text(text.replace("</robot>", BOX))
    up, down = (loaded(tmp_path / "hand.urdf", gravity=(x, 0.0, 0.0)) for x in (-9.81, 9.81))
    joints = [joint for joint in up.joints if joint.kind.nq == 1]
    q_of, v_of = (np.array([getattr(joint, key).start for joint in joints]) for key in ("q", "v"))

    def close(t: float, q: Array, v: Array) -> Array:
        tau = [0.0] * up.nv
        for angle, i, j in zip(FLEXED, q_of, v_of, strict=True):
            tau[j] = STIFFNESS * (angle * np.minimum(2.0 * t, 1.0) - q[i])
        return np.array(tau)

    def hold(t: float, q: Array, v: Array) -> Array:
        return close(1.0, q, v)

    grasp = lw.simulate(
        up, up.neutral(), duration=1.5, dt=1e-3, contact="rigid", controller=close, record=("q", "contact.force")
    )
    held = lw.simulate(
        down, grasp.q[-1], duration=1.0, dt=1e-3, contact="rigid", controller=hold, record=("q", "contact.force")
    )
    weight = 0.1 * 9.81
    for m, run, load in ((up, grasp, weight), (down, held, -weight)):
        on_box = {
            name: force[-1] * (-1.0 if name.endswith(" on box") else 1.0)
            for name, force in pair_forces(m, run["contact.force"]).items()
            if "box" in name.split(" on ")
        }
        assert np.allclose(sum(on_box.values()), [load, 0.0, 0.0], atol=1e-3)
        assert sum(np.linalg.norm(force) > 0.5 for force in on_box.values()) >= 4  # fingers and palm
        assert all(one.depth < 1e-4 for one in overlaps(m, m.solid_pairs, run.q[-1]) if one.size < 0.06)
    moved = np.abs(held.q[-1] - grasp.q[-1])[up.joints["box"].q]
    assert moved[:3].max() < 1e-3  # the finger joints are springs
    assert moved[3:].max() < 0.01
