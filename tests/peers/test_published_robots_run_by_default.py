"""Published robots run without options: every URDF file of example-robot-data that has dynamics."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from pinocchio_reference import FOLDER
from quick_test_selection import mark_slow_except

REFUSED = {  # files that cannot be simulated, with a part of the error
    "alex_psyonic_hands.urdf": "mimic=False",
    "romeo.urdf": "0 kg",
    "romeo_laas_small.urdf": "inertia",
    "ur3.urdf": "link",
}
GIMBAL_LOCK = {"human.urdf"}  # its mass matrix becomes singular at 0.45 s: three joints without inertia between them
QUICK = {
    "z1.urdf",
    "go1.urdf",
    "xarm7.urdf",
    "double_pendulum.urdf",
    "panda.urdf",
    "ur3.urdf",
    "allegro_left_hand.urdf",
}
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.urdf"))


@pytest.mark.parametrize(
    "name", mark_slow_except(FILES, [name for name in FILES if Path(name).name in QUICK], name=lambda name: name)
)
def test_a_published_robot_runs_without_options(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if Path(name).name in REFUSED:
            with pytest.raises(lw.ModelError, match=REFUSED[Path(name).name]):
                lw.simulate(lw.load(FOLDER / name), duration=1.0)
            return
        run = lw.simulate(lw.load(FOLDER / name), duration=1.0)
    if Path(name).name in GIMBAL_LOCK:
        assert "mass matrix is nearly singular: a motion of 'left_hip" in run.outcome.diagnosis
        return
    assert run.outcome.kind == "finished"
    assert np.isfinite(run.q).all()


def test_a_robot_with_enough_friction_holds_still() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = lw.load(FOLDER / "z1_description/urdf/z1.urdf")
    needed = np.abs(lw.compile(m).gravity(m.neutral()))
    friction = {j.name: float(j.friction[0]) for j in m.joints if j.kind.nv}
    stronger = m.with_parameters({f"{name}.friction": [f + 2.0 * needed.max()] for name, f in friction.items()})
    run = lw.simulate(stronger, m.neutral(), duration=10.0)
    assert np.all(run.q == run.q[0])
