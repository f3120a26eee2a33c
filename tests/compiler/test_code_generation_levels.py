"""Kernels have the same bits at LLVM's levels 0 and 1: most tests compile at level 0, users at level 1."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import in_memory_kernel_cache
from linkwork.compiler.targets.cpu import code_loader, cpu_target
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_mechanisms import state, tree

Made = tuple[list[Array], set[bytes]]
SCENES = [  # example, method, and step [s]
    ("four_bar", "rk4", 1e-2),
    ("incline_block", "semi-implicit", 3e-4),
    ("clutched_flywheels", "dop853", 1e-2),
    ("box_drop", "midpoint", 3e-4),
    ("tumbling_body", "variational", 1e-2),
    ("heavy_top", "energy-momentum", 1e-2),
    ("slider_crank", "rattle", 1e-2),
    ("five_bar", "shake", 1e-2),
]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], list[Array]]], Made]:
    """Return a function of a level and a computation; it returns the computation's results and the codes it ran."""

    def run(level: int, compute: Callable[[], list[Array]]) -> Made:
        codes: set[bytes] = set()

        def load(self: Any, code: bytes) -> Any:
            codes.add(code)
            return cpu_target.MachineCode(code)

        monkeypatch.setattr(cpu_target.CpuTarget, "load", load)
        monkeypatch.setattr(code_loader, "CODE_GENERATION_LEVEL", level)
        in_memory_kernel_cache.forget()
        results = compute()
        in_memory_kernel_cache.forget()
        return results, codes

    return run


def compare_levels(run: Callable[[int, Callable[[], list[Array]]], Made], compute: Callable[[], list[Array]]) -> None:
    (lowest, quick_codes), (usual, usual_codes) = run(0, compute), run(1, compute)
    assert len(quick_codes) == len(usual_codes) > 0
    assert not quick_codes & usual_codes  # each level runs its own code
    for ours, theirs in zip(lowest, usual, strict=True):
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("seed", mark_slow_except([1, 2, 4, 6, 30], (1, 2, 30)))
def test_dynamics_have_the_same_bits_at_both_code_generation_levels(made: Any, seed: int) -> None:
    def quantities() -> list[Array]:
        m = tree(seed)
        dynamics = lw.compile(m)
        s = state(m, seed)
        found: list[Array] = []
        for q, v, tau in ((s.q, s.v, s.tau), tuple(np.stack([x] * 5) for x in (s.q, s.v, s.tau))):
            found += [dynamics.mass_matrix(q), dynamics.forward_dynamics(q, v, tau), dynamics.energy(q, v)]
            found += list(dynamics.forward_dynamics_derivatives(q, v, tau))
        return [np.asarray(part) for part in found]

    compare_levels(made, quantities)


@pytest.mark.parametrize(("example", "method", "dt"), SCENES)
def test_runs_have_the_same_bits_at_both_code_generation_levels(
    made: Any, example: str, method: str, dt: float
) -> None:
    def runs() -> list[Array]:
        m = lw.example(example)
        one = lw.simulate(m, duration=20 * dt, dt=dt, method=method)
        many = lw.simulate(m, one.q[0] + np.zeros((3, 1)), one.v[0], duration=20 * dt, dt=dt, method=method)
        return [run[name] for run in (one, many) for name in run.recorded]

    compare_levels(made, runs)
