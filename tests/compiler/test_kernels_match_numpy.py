"""Kernels match the NumPy reference; results have the same bits in any batch, at any index, on any thread."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_mechanisms import State, relative, state, tree

SEEDS = (0, 1, 4, 6, 30)  # every joint kind, fixed and free bases
ROWS: dict[str, tuple[str, ...]] = {
    "poses": ("q",),
    "velocities": ("q", "v"),
    "accelerations": ("q", "v", "a"),
    "inverse_dynamics": ("q", "v", "a", "wrenches"),
    "bias": ("q", "v"),
    "gravity": ("q",),
    "passive": ("q", "v"),
    "mass_matrix": ("q",),
    "forward_dynamics": ("q", "v", "tau", "wrenches"),
    "reactions": ("q", "v", "tau"),
    "momentum": ("q", "v"),
    "momentum_rate": ("q", "v", "a"),
    "momentum_matrix": ("q",),
    "center_of_mass": ("q",),
    "energy": ("q", "v"),
}


def both(seed: int) -> tuple[lw.Dynamics, lw.Dynamics]:
    return lw.compile(tree(seed)), lw.compile(tree(seed), target="numpy")


@pytest.mark.parametrize("seed", mark_slow_except([*range(12), *range(30, 42)], SEEDS))
def test_every_method_of_dynamics_matches_the_numpy_reference(seed: int) -> None:
    compiled, plain = both(seed)
    for near in ("anywhere", "identity", "gimbal"):
        compare_quantities(compiled, plain, state(tree(seed), seed, near))


SOLVING = ("forward_dynamics", "reactions", "forward_dynamics_derivatives")  # with the mass matrix M


def compare_quantities(compiled: lw.Dynamics, plain: lw.Dynamics, s: State) -> None:
    """Compare to 1e-12; quantities that solve with M agree to round-off times its condition (4e4 in one such state)."""
    rounding = np.finfo(float).eps * np.linalg.cond(plain.mass_matrix(s.q))
    bound = {row: max(1e-12, rounding) for row in SOLVING}
    for row, names in ROWS.items():
        arguments = [getattr(s, name) for name in names]
        found, expected = getattr(compiled, row)(*arguments), getattr(plain, row)(*arguments)
        assert relative(np.array(found), np.array(expected), scale=1e-3) < bound.get(row, 1e-12), row
    for row, third in (("forward_dynamics_derivatives", s.tau), ("inverse_dynamics_derivatives", s.a)):
        found, expected = getattr(compiled, row)(s.q, s.v, third), getattr(plain, row)(s.q, s.v, third)
        for ours, theirs in zip(found, expected, strict=True):
            assert relative(ours, theirs, scale=1e-3) < bound.get(row, 1e-12), row
    for expressed in ("body", "world", "mixed"):
        J = compiled.jacobian(s.q, "probe", expressed)
        assert relative(J, plain.jacobian(s.q, "probe", expressed), scale=1e-3) < 1e-12
        dJ = compiled.jacobian_rate(s.q, s.v, "probe", expressed)
        assert relative(dJ, plain.jacobian_rate(s.q, s.v, "probe", expressed), scale=1.0) < 1e-12
    assert relative(compiled.pose(s.q, "probe"), plain.pose(s.q, "probe")) < 1e-13


M = tree(8)
D = lw.compile(M)


def states(count: int, seed: int = 0) -> list[Array]:
    each = [state(M, seed + k) for k in range(count)]
    return [np.array([getattr(s, name) for s in each]).reshape(count, -1) for name in ("q", "v", "tau")]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 100])
def test_kernel_results_have_the_same_bits_alone_and_in_any_batch(count: int) -> None:
    arrays = states(count) if count else [np.zeros((0, n)) for n in (M.nq, M.nv, M.nv)]
    found = D.forward_dynamics(*arrays)
    assert found.shape == (count, M.nv)
    for k in range(count):
        assert (found[k] == D.forward_dynamics(*(a[k] for a in arrays))).all()
    if count:
        assert (D.forward_dynamics(*(a[::-1] for a in arrays))[::-1] == found).all()


def test_kernel_results_have_the_same_bits_with_any_number_of_threads() -> None:
    arrays = [np.tile(a, (40, 1)) for a in states(50)]
    expected = lw.compile(M, threads=1).forward_dynamics(*arrays)
    for threads in (2, 3, 5, None):
        assert (lw.compile(M, threads=threads).forward_dynamics(*arrays) == expected).all()


def test_batches_of_kernels_nest_and_broadcast_like_numpy() -> None:
    q, v, tau = states(6)
    grid = D.forward_dynamics(q[:, None], v[None, :3], tau[0])
    assert grid.shape == (6, 3, M.nv)
    for i, j in np.ndindex(6, 3):
        assert (grid[i, j] == D.forward_dynamics(q[i], v[j], tau[0])).all()
    nested = D.forward_dynamics(*(a.reshape(2, 3, -1) for a in (q, v, tau)))
    assert (nested.reshape(6, -1) == D.forward_dynamics(q, v, tau)).all()
    strided = D.forward_dynamics(np.asfortranarray(q), v[::1], np.repeat(tau, 2, axis=0)[::2])
    assert (strided == D.forward_dynamics(q, v, tau)).all()


def test_methods_convert_lists_and_integers_to_float_arrays() -> None:
    d = lw.compile(lw.example("double_pendulum"))
    expected = d.forward_dynamics(np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.zeros(2))
    for _ in range(2):  # before and after the quick entry is in place
        assert (d.forward_dynamics([1, 2], (0, 1), np.zeros(2, dtype=int)) == expected).all()
        assert (d.forward_dynamics(np.array([1, 2], dtype=np.float32), [0, 1], [0, 0]) == expected).all()


def test_sine_and_cosine_of_large_angles_are_accurate_in_every_lane() -> None:
    """Beyond 1e5 rad each lane falls back to the system's elementary functions."""
    m = lw.example("double_pendulum")
    q = np.array([[0.3, -0.4], [3e6, 0.1], [1e5 + 0.5, -7e5], [0.2, 0.1], [-1e9, 2.0]])
    v, tau = np.array([1.0, 2.0]), np.zeros(2)
    d = lw.compile(m)
    found = d.forward_dynamics(q, v, tau)
    assert relative(found, lw.compile(m, target="numpy").forward_dynamics(q, v, tau)) < 1e-9
    for k in range(5):
        assert (found[k] == d.forward_dynamics(q[k], v, tau)).all()


def test_methods_of_dynamics_write_their_result_into_the_argument_out() -> None:
    q, v, tau = states(5)
    expected = D.forward_dynamics(q, v, tau)
    out = np.empty((5, M.nv))
    assert D.forward_dynamics(q, v, tau, out=out) is out
    assert (out == expected).all()
    wrong: list[Any] = [np.empty((4, M.nv)), np.empty((5, M.nv), dtype=np.float32), np.empty((M.nv, 5)).T, [0.0]]
    for bad in wrong:
        with pytest.raises(lw.ShapeError, match="out must be"):
            D.forward_dynamics(q, v, tau, out=bad)


def test_new_values_of_varying_parameters_need_no_new_kernel() -> None:
    name = f"{M.bodies[1].name}.mass"
    d, plain = (lw.compile(M, parameters=[name, "gravity"], target=target) for target in ("cpu", "numpy"))
    s: State = state(M, 3)
    masses = np.linspace(1.0, 3.0, 9)
    found = d.forward_dynamics(s.q, s.v, s.tau, parameters={name: masses})
    assert relative(found, plain.forward_dynamics(s.q, s.v, s.tau, parameters={name: masses})) < 1e-11
    assert (found[4] == d.forward_dynamics(s.q, s.v, s.tau, parameters={name: masses[4]})).all()
    kernels = len(d._kernels)
    d.forward_dynamics(s.q, s.v, s.tau, parameters={name: 2.5})
    assert len(d._kernels) == kernels


def test_kernel_of_a_long_chain_in_many_chunks_matches_numpy() -> None:
    b, parent = lw.Builder("chain"), "world"
    for k in range(60):
        b.body(f"link {k}", mass=1.0, com=(0.1, 0.02, 0.03), inertia=(0.1, 0.1, 0.1))
        b.joint(f"pin {k}", lw.Revolute(np.eye(3)[k % 3]), parent, f"link {k}", at=(0.3, 0, 0), rpy=(0.3, 0.2, 0.1))
        parent = f"link {k}"
    m = b.build()
    q, v, tau = np.random.default_rng(0).normal(size=(3, 3, m.nv)) * 0.3
    expected = lw.compile(m, target="numpy").forward_dynamics(q, v, tau)
    d = lw.compile(m)
    assert relative(d.forward_dynamics(q, v, tau), expected) < 1e-9  # sixty joints magnify round-off
    assert (d.forward_dynamics(q, v, tau)[1] == d.forward_dynamics(q[1], v[1], tau[1])).all()
