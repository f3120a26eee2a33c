"""Every entry of every series of a run has a name and a unit, and data sets include them."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.series import RunFacts, label_of
from linkwork.simulation.state_series import coordinate_names, velocity_names
from random_mechanisms import MOVING_KINDS, random_kind, tree, tree_with_mimics


@pytest.mark.parametrize("name", [*MOVING_KINDS, "weld"])
def test_joint_kinds_name_all_their_coordinates(name: str) -> None:
    kind = random_kind(np.random.default_rng(0), name)
    assert len(kind.coordinates) == kind.nq
    assert len(kind.velocities) == kind.nv == len(kind.turns)
    assert len({own for own, _ in kind.coordinates}) == kind.nq
    assert {unit for _, unit in kind.coordinates} <= {"rad", "m", "1"}
    if kind.nq == kind.nv:
        assert [unit == "rad" for _, unit in kind.coordinates] == list(kind.turns)


def test_coordinate_names_are_joint_names() -> None:
    m = lw.example("free_flyer")
    assert coordinate_names(m)[:8] == (
        "float.x", "float.y", "float.z", "float.qw", "float.qx", "float.qy", "float.qz", "left shoulder joint",
    )  # fmt: skip
    assert velocity_names(m)[:7] == (
        "float.vx", "float.vy", "float.vz", "float.wx", "float.wy", "float.wz", "left shoulder joint",
    )  # fmt: skip
    assert label_of(RunFacts(m), "q").unit == "m, 1, rad"
    assert label_of(RunFacts(m), "tau").units[:7] == ("N",) * 3 + ("N m",) * 4


def test_labels_of_entries_match_the_shape_of_all_series() -> None:
    for m in (tree(3), tree_with_mimics(6)):  # every kind of joint between them
        run = lw.simulate(m, duration=0.02, dt=0.01, method="semi-implicit", target="numpy")
        names = [name for name in run if not name.startswith(("pose.", "velocity."))]
        for name in [*names, "pose.probe", "velocity.probe"]:
            row = run[name].shape[1:]
            label = label_of(run.facts, name, row)
            assert tuple(len(axis.entries) for axis in label.axes) == row, name
            assert len(label.units) == (row[-1] if row else 1), name
            assert label.title


def test_data_sets_have_named_axes_and_units() -> None:
    pytest.importorskip("xarray")
    m = lw.example("free_flyer")
    run = lw.simulate(m, np.tile(m.neutral(), (2, 1)), duration=0.02, dt=0.01, target="numpy")
    data = run.to_xarray("q", "v", "momentum", "pose.left tool", "energy")
    assert data["q"].dims == ("member", "time", "coordinate")
    assert data["v"].dims == ("member", "time", "velocity")
    assert data["energy"].dims == ("member", "time")
    assert data["energy"].attrs["units"] == "J"
    assert data["q"].attrs["units_of_entries"].startswith("m, m, m, 1, 1, 1, 1, rad")
    assert np.array_equal(data["q"].sel(coordinate="float.qw"), run.q[..., 3])
    assert np.array_equal(data["time"], run.t)
    assert data["outcome"].values.tolist() == ["finished", "finished"]
    assert data.attrs["method"] == run.method
    single = lw.simulate(m, duration=0.02, dt=0.01, target="numpy").to_xarray()
    assert single["q"].dims == ("time", "coordinate")
    assert set(run.to_xarray().data_vars) == {*run.recorded, "outcome", "outcome_time"}
    with pytest.raises(lw.LinkworkError, match="there is no series 'speed'"):
        run.to_xarray("speed")
