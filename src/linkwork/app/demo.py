"""The main job on a built-in example, in a few seconds: `python -m linkwork.app.demo`, or `make demo`."""

from __future__ import annotations

import time
from timeit import repeat

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import linkwork as lw
from linkwork.spatial.scalar import Array


def main() -> None:
    """Build a free-flying two-arm robot, describe it, solve its dynamics both ways and cross-check them."""
    console, start = Console(), time.perf_counter()
    m = lw.example("free_flyer")
    d = lw.compile(m)
    rng = np.random.default_rng(1)
    q, v = m.random(rng), rng.normal(size=m.nv) * 0.3
    tau = np.concatenate([np.zeros(6), rng.normal(size=m.nv - 6) * 5.0])

    console.print(Panel(Text(str(m)), title="A free-flying two-arm robot", expand=False))
    console.print(_whole(m, d, q, v))

    a = d.forward_dynamics(q, v, tau)
    back = d.inverse_dynamics(q, v, a)
    console.print(_joints(m, tau, a, back))
    rate = np.abs(d.momentum_rate(q, v, a)).max()
    console.print(
        f"forward, then inverse dynamics gives the joint torques back to {np.abs(back - tau).max():.1e} N m; "
        f"arm torques change the momentum by {rate:.1e} N, N m\n"
    )
    console.print(_speed(m, d) + "\n")
    check = lw.cross_check(m, samples=20)
    console.print(Panel(Text(str(check)), title="Five formulations, one answer", expand=False))
    console.print(f"done in {time.perf_counter() - start:.1f} s")


def _whole(m: lw.Mechanism, d: lw.Dynamics, q: Array, v: Array) -> Table:
    """Mass, inertia and energies of the mechanism at one state."""
    kinetic, potential = d.energy(q, v)
    base = m.bodies[1]
    table = Table("quantity", "value", "unit", title="The whole, at a random state", title_justify="left")
    table.add_row("mass", f"{m.mass:.4g}", "kg")
    table.add_row(f"inertia of {base.name!r}", _rows(base.inertia.rotational), "kg m^2")
    table.add_row("centre of mass", _numbers(d.center_of_mass(q)), "m")
    table.add_row("momentum", _numbers(d.momentum(q, v)[:3]), "kg m/s")
    table.add_row("angular momentum (about it)", _numbers(d.momentum(q, v)[3:]), "kg m^2/s")
    table.add_row("kinetic energy", f"{kinetic:.4g}", "J")
    table.add_row("potential energy", f"{potential + 0.0:.4g}", "J")
    return table


def _joints(m: lw.Mechanism, tau: Array, a: Array, back: Array) -> Table:
    """Joint forces, the accelerations they cause, and the forces that inverse dynamics finds again."""
    columns = ("joint", "torque in", "acceleration", "torque back")
    table = Table(*columns, title="Forward and inverse dynamics [N m, N; rad/s^2, m/s^2]", title_justify="left")
    for joint in m.joints:
        table.add_row(joint.name, *(_column(values[joint.v]) for values in (tau, a, back)))
    return table


def _speed(m: lw.Mechanism, d: lw.Dynamics) -> str:
    """How long forward dynamics takes on this machine, for one state and for many; medians."""
    rng = np.random.default_rng(2)
    q, v, tau = np.array([m.random(rng) for _ in range(2000)]), np.ones(m.nv), np.zeros(m.nv)
    once = np.median(repeat(lambda: d.forward_dynamics(q[0], v, tau), number=500, repeat=7)) / 500
    many = np.median(repeat(lambda: d.forward_dynamics(q, v, tau), number=1, repeat=7)) / len(q)
    return (
        f"forward dynamics in machine code made for this robot: {once * 1e6:.1f} us for one state, "
        f"{many * 1e6:.2f} us each for {len(q)} states at once"
    )


def _numbers(values: Array) -> str:
    return "  ".join(f"{x + 0.0:8.3f}" for x in np.where(np.abs(values) < 5e-13, 0.0, values))


def _rows(matrix: Array) -> str:
    return "\n".join(_numbers(row) for row in matrix)


def _column(values: Array) -> str:
    return _rows(values[:, None])


if __name__ == "__main__":
    main()
