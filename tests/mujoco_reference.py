"""Reference results of MuJoCo for the same model and state, without contacts, limits, couplings and motors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo is not installed (the extra 'mjcf')")
OFF = ("CONTACT", "LIMIT", "EQUALITY", "ACTUATION", "FRICTIONLOSS")


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress MuJoCo's warnings, which it would write to a file."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


class MujocoReference:
    """MuJoCo's model of a file or text, with constraints and actuators disabled."""

    def __init__(self, path: Path | str):
        with quiet():
            made = mujoco.MjModel.from_xml_path if isinstance(path, Path) else mujoco.MjModel.from_xml_string
            self.model = made(str(path))
        for flag in OFF:
            self.model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
        self.data = mujoco.MjData(self.model)

    def forward(self, qpos: Array, qvel: Array, qfrc: Array) -> Array:
        """Return MuJoCo's accelerations qacc (nv,) for its qpos, qvel and applied joint forces qfrc."""
        self.data.qpos[:], self.data.qvel[:], self.data.qfrc_applied[:] = qpos, qvel, qfrc
        with quiet():
            mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qacc)


def acceleration_for_mujoco(m: lw.Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return joint accelerations in MuJoCo's layout.

    MuJoCo's free-joint velocity is R v, so its rate is R (a + w x v).
    """
    a = a.copy()
    for joint in m.joints:
        if isinstance(joint.kind, lw.Free):
            a[joint.v][:3] += np.cross(v[joint.v][3:], v[joint.v][:3])
    return lw.convert(m, q, a, target="mujoco")[1]


def without_friction(m: lw.Mechanism) -> lw.Mechanism:
    """Return the mechanism without dry friction, which MuJoCo models by constraints."""
    return m.with_parameters({name: 0.0 * x for name, x in m.parameters.items() if name.endswith(".friction")})
