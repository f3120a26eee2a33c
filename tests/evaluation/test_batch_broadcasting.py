"""Every method of Dynamics takes any batch shape and gives each member the same result as alone."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from random_mechanisms import tree

M = tree(11)  # several joint kinds and a free base
D = lw.compile(M, target="numpy")
N, NJ = M.nbodies, len(M.joints)
# call -> (arguments, shape of one result)
ROWS: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "poses": (("q",), (N, 4, 4)),
    "velocities": (("q", "v"), (N, 6)),
    "accelerations": (("q", "v", "a"), (N, 6)),
    "inverse_dynamics": (("q", "v", "a", "wrenches"), (M.nv,)),
    "bias": (("q", "v"), (M.nv,)),
    "gravity": (("q",), (M.nv,)),
    "passive": (("q", "v"), (M.nv,)),
    "mass_matrix": (("q",), (M.nv, M.nv)),
    "forward_dynamics": (("q", "v", "tau", "wrenches"), (M.nv,)),
    "reactions": (("q", "v", "tau", "wrenches"), (NJ, 6)),
    "momentum": (("q", "v"), (6,)),
    "momentum_rate": (("q", "v", "a"), (6,)),
    "momentum_matrix": (("q",), (6, M.nv)),
    "center_of_mass": (("q",), (3,)),
}


def inputs(batch: tuple[int, ...], seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    q = np.array([M.random(rng) for _ in range(int(np.prod(batch)))]).reshape(*batch, M.nq)
    v, a, tau = (rng.normal(size=(*batch, M.nv)) for _ in range(3))
    return {"q": q, "v": v, "a": a, "tau": tau, "wrenches": rng.normal(size=(*batch, N, 6))}


@pytest.mark.parametrize("call", ROWS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2), (0,), (2, 0)])
def test_every_method_gives_each_batch_member_the_result_of_a_single_call(call: str, batch: tuple[int, ...]) -> None:
    names, core = ROWS[call]
    arrays = inputs(batch)
    found = getattr(D, call)(*(arrays[name] for name in names))
    assert found.shape == batch + core
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    for member in np.ndindex(batch):
        alone = getattr(D, call)(*(arrays[name][member] for name in names))
        assert (found[member] == alone).all()


def test_arguments_of_dynamics_broadcast_against_each_other() -> None:
    many, one = inputs((4,)), inputs(())
    a = D.forward_dynamics(many["q"], one["v"], one["tau"], one["wrenches"])
    expected = [D.forward_dynamics(q, one["v"], one["tau"], one["wrenches"]) for q in many["q"]]
    assert (a == expected).all()
    grid = D.bias(many["q"][:, None], many["v"][None, :])
    assert grid.shape == (4, 4, M.nv)
    assert (grid[1, 2] == D.bias(many["q"][1], many["v"][2])).all()


def test_energies_poses_and_jacobians_accept_any_batch_shape() -> None:
    s = inputs((2, 3))
    kinetic, potential = D.energy(s["q"], s["v"])
    assert kinetic.shape == potential.shape == (2, 3)
    assert D.pose(s["q"], "probe").shape == (2, 3, 4, 4)
    for expressed in ("body", "world", "mixed"):
        assert D.jacobian(s["q"], "probe", expressed).shape == (2, 3, 6, M.nv)
        assert D.jacobian_rate(s["q"], s["v"], "probe", expressed).shape == (2, 3, 6, M.nv)


def test_lists_integers_and_strided_arrays_are_accepted() -> None:
    m = lw.example("double_pendulum")
    d = lw.compile(m, target="numpy")
    expected = d.forward_dynamics(np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.zeros(2))
    assert (d.forward_dynamics([1, 2], [0, 1], [0, 0]) == expected).all()
    wide = np.array([[1.0, 9.0, 2.0, 9.0]])[:, ::2]
    assert (d.forward_dynamics(wide, [0, 1], [0, 0])[0] == expected).all()


@pytest.mark.parametrize("welded", [True, False])
def test_mechanism_without_joints_has_empty_results(welded: bool) -> None:
    b = lw.Builder("still")
    if welded:
        b.body("block", mass=1.0, inertia=(1, 1, 1)).joint("glue", lw.Weld(), "world", "block", at=(1, 2, 3))
    m = b.build()
    d = lw.compile(m, target="numpy")
    assert (m.nq, m.nv, m.nbodies, m.mass) == (0, 0, 0, 0)
    assert d.forward_dynamics([], [], []).shape == (0,)
    assert d.poses(np.zeros((2, 0))).shape == (2, 0, 4, 4)
    assert d.mass_matrix([]).shape == d.mass_matrix([]).T.shape == (0, 0)
    assert d.reactions([], [], []).shape == (0, 6)
    assert d.jacobian([], "world").shape == (6, 0)
    if welded:
        assert (d.pose([], "block")[:3, 3] == [1, 2, 3]).all()


def test_world_frame_has_zero_jacobian_and_identity_pose() -> None:
    assert (D.jacobian(M.neutral(), "world") == 0.0).all()
    assert (D.pose(M.neutral(), "world") == np.eye(4)).all()


def test_external_wrenches_are_zero_by_default() -> None:
    s = inputs(())
    with_zero = D.forward_dynamics(s["q"], s["v"], s["tau"], np.zeros((N, 6)))
    assert np.abs(D.forward_dynamics(s["q"], s["v"], s["tau"]) - with_zero).max() < 1e-12 * np.abs(with_zero).max()


def test_dynamics_do_not_depend_on_the_norm_of_quaternions() -> None:
    s = inputs(())
    scaled = s["q"].copy()
    for joint in M.joints:
        if joint.kind.nq > joint.kind.nv:
            scaled[joint.q.stop - 4 : joint.q.stop] *= 3.0
    expected = D.forward_dynamics(s["q"], s["v"], s["tau"])
    assert np.abs(D.forward_dynamics(scaled, s["v"], s["tau"]) - expected).max() < 1e-12 * np.abs(expected).max()


def test_varying_parameters_have_the_values_of_the_mechanism_by_default_and_broadcast() -> None:
    name = f"{M.bodies[1].name}.mass"
    d = lw.compile(M, parameters=[name, "gravity"], target="numpy")
    s = inputs(())
    state = (s["q"], s["v"], s["tau"])
    assert (d.forward_dynamics(*state) == D.forward_dynamics(*state)).all()
    masses = np.array([1.0, 2.0, 3.0])
    found = d.forward_dynamics(*state, parameters={name: masses})
    for mass, a in zip(masses, found, strict=True):
        rebuilt = lw.compile(M.with_parameters({name: mass}), target="numpy")
        assert (a == rebuilt.forward_dynamics(*state)).all()
    assert not np.allclose(found[0], found[2])
    weightless = d.gravity(s["q"], parameters={"gravity": np.zeros(3)})
    assert np.abs(weightless).max() == 0.0
