"""Every MJCF of gymnasium and dm_control is loaded, or rejected for a known reason.

Loaded models match MuJoCo's accelerations, passive forces and poses to 1e-9, with armature, dampers and springs;
contacts, limits, couplings, motors and dry friction are disabled in MuJoCo. Drive forces match its motors.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.drive_forces import drive_forces
from mujoco_reference import MujocoReference, acceleration_for_mujoco, mujoco, quiet, without_friction
from random_mechanisms import relative

AGREE = 1e-9
STATES = 3
PACKAGES = ("gymnasium", "dm_control")
FLUID, NOT_THERE = "fluid forces", "does not exist"
REFUSED = {  # and a part of the reason
    "gymnasium/envs/mujoco/assets/swimmer.xml": FLUID,
    "dm_control/suite/swimmer.xml": FLUID,
    "dm_control/suite/fish.xml": FLUID,
    "dm_control/locomotion/walkers/assets/fruitfly_v2/floor.xml": FLUID,
    "dm_control/locomotion/walkers/assets/fruitfly_v2/fruitfly.xml": FLUID,
    # files that name others which are not there; MuJoCo refuses them, too
    "dm_control/locomotion/walkers/assets/build_fruitfly/assets/drosophila.xml": NOT_THERE,
    "dm_control/locomotion/walkers/assets/build_fruitfly/floor.xml": NOT_THERE,
    "dm_control/locomotion/walkers/assets/build_fruitfly/fruitfly.xml": NOT_THERE,
    "dm_control/mjcf/test_assets/included_with_invalid_filenames.xml": NOT_THERE,
    "dm_control/mjcf/test_assets/model_with_invalid_filenames.xml": NOT_THERE,
    "dm_control/mujoco/testing/assets/model_with_assets.xml": NOT_THERE,
    "dm_control/mjcf/test_assets/test_model.xml": "mass and inertia of moving bodies",  # MuJoCo refuses it, too
    "dm_control/locomotion/walkers/assets/dog_v2/scene.xml": "repeated name 'grid'",  # MuJoCo refuses it, too
    # no models but descriptions of the format
    "dm_control/mjcf/schema.xml": "the root element is <element>",
    "dm_control/mjcf/test_assets/attribute_test_schema.xml": "the root element is <element>",
}


def folder(package: str) -> Path | None:
    found = find_spec(package)
    return Path(found.origin).parent if found and found.origin else None


FOLDERS = {package: found for package in PACKAGES if (found := folder(package))}
FILES = {
    f"{package}/{path.relative_to(root)}": path
    for package, root in FOLDERS.items()
    for path in sorted(root.rglob("*.xml"))
}
SOUND = [name for name in FILES if name not in REFUSED]
worst: dict[str, float] = {}
driving: dict[str, tuple[int, int]] = {}  # drives, and actuators in all


def load(path: Path) -> lw.Mechanism:
    """Load with uncoupled joints, without warnings about unsupported parts. Meshes may be next to a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(path, mimic=False, packages=list(FOLDERS.values()))


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_with_published_mjcf_models_are_installed(package: str) -> None:
    if package not in FOLDERS:
        pytest.skip(f"{package} is not installed (the extra 'peers')")
    assert len([name for name in SOUND if name.startswith(package)]) >= {"gymnasium": 13, "dm_control": 50}[package]


@pytest.mark.parametrize("name", SOUND)
def test_loaded_mjcf_model_matches_mujoco(name: str) -> None:
    m = load(FILES[name])
    there = MujocoReference(FILES[name])
    model, d, rng = there.model, lw.compile(without_friction(m), target="numpy"), np.random.default_rng(0)
    assert (m.nq, m.nv) == (model.nq, model.nv)
    found = [0.0]
    for _ in range(STATES):
        q, qvel, qfrc = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv) * 10.0
        v, tau = (lw.convert(m, q, x, source="mujoco")[1] for x in (qvel, qfrc))
        qacc = there.forward(q, qvel, qfrc)
        passive = d.passive(q, v)
        found.append(relative(lw.convert(m, q, passive, target="mujoco")[1], there.data.qfrc_passive))
        a = d.forward_dynamics(q, v, tau + passive)
        found.append(relative(acceleration_for_mujoco(m, q, v, a), qacc))
        for k in range(1, model.nbody):
            if model.body(k).name:
                X = d.pose(q, model.body(k).name)
                there_X = np.column_stack([there.data.xmat[k].reshape(3, 3), there.data.xpos[k]])
                found.append(float(np.abs(X[:3] - there_X).max()))
    worst[name] = max(found)
    assert max(found) < AGREE
    assert np.array_equal(m.keyframes["qpos0"].q, model.qpos0)
    for k in range(model.nkey):
        if model.key(k).name:  # <size nkey> makes others, of which the file says nothing
            assert np.array_equal(m.keyframes[model.key(k).name].q, model.key_qpos[k])


@pytest.mark.parametrize("name", SOUND)
def test_drive_forces_of_published_mjcf_models_match_mujoco(name: str) -> None:
    """All drives together, for models without other actuators and without actuator force limits on joints."""
    m, model = load(FILES[name]), MujocoReference(FILES[name]).model
    driving[name] = len(m.drives), model.nactuator if hasattr(model, "nactuator") else model.nu
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    if len(m.drives) < model.nu or model.jnt_actfrclimited.any() or not m.drives:
        return
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    for scale in (0.1, 10.0):
        q, v, u = m.random(rng), rng.normal(size=m.nv), rng.normal(size=model.nu) * scale
        data.qpos[:], data.ctrl[:] = q, u
        data.qvel[:] = lw.convert(m, q, v, target="mujoco")[1]
        with quiet():
            mujoco.mj_forward(model, data)
        found = lw.convert(m, q, drive_forces(m, q, v, u), target="mujoco")[1]
        assert relative(found, data.qfrc_actuator, scale=1e-3) < AGREE


def test_mjcf_models_are_rejected_only_for_known_reasons() -> None:
    assert not [name for name in REFUSED if name.split("/")[0] in FOLDERS and name not in FILES]
    for name in REFUSED:
        if name in FILES:
            with pytest.raises(lw.ModelError, match=REFUSED[name]) as caught:
                load(FILES[name])
            assert caught.value.file
            assert caught.value.line
    movable = [name for name in SOUND if load(FILES[name]).nv]
    print(
        f"\nMuJoCo {mujoco.__version__}, {len(FILES)} files: {len(SOUND)} loaded, of which {len(movable)} move "
        f"and agree to {max(worst.values(), default=0.0):.1e}; {len(FILES) - len(SOUND)} refused; "
        f"{sum(drives for drives, _ in driving.values())} of {sum(n for _, n in driving.values())} actuators are drives"
    )
