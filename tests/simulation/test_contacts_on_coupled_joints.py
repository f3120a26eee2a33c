"""Contacts of joints coupled by mimics, clutches or loops act on the combined mass."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.results.run import Run
from quick_test_selection import mark_slow_pairs

G = 9.81
METHODS = ("rk4", "midpoint", "variational", "semi-implicit")


def rails(*masses: float) -> lw.Builder:
    """Return a Builder with masses on parallel rails above a floor, each with a foot.

    The first foot has 4e4 N/m and 60 N s/m, the second half of both.
    """
    b = lw.Builder("rails", gravity=(0, 0, -G)).surface("floor", lw.Plane())
    for k, (mass, hard) in enumerate(zip(masses, (4e4, 2e4), strict=True)):
        b.body(f"mass {k}", mass, inertia=0.01 * np.ones(3))
        b.joint(f"rail {k}", lw.Prismatic((0, 0, 1)), "world", f"mass {k}", at=(k, 0, 0))
        b.touch(f"foot {k}", f"mass {k}", stiffness=hard, damping=1.5e-3 * hard)
    return b


TIED = {  # the machine, and by how much the second mass moves with the first
    "mimic": (lambda: rails(1.0, 4.0).mimic("rail 1", "rail 0", 0.5).build(), 0.5),
    "clutch": (lambda: rails(1.0, 3.0).clutch("clutch", "rail 0", "rail 1", engaged=True).build(), 1.0),
    "loop": (lambda: rails(1.0, 3.0).close("bar", lw.PointOnLine((1, 0, 0)), "mass 0", "mass 1").build(), 1.0),
}


@cache
def alone(ratio: float, method: str, locate: bool) -> Run:
    """Return a run of one mass that has the combined inertia of the coupled masses, in the first coordinate."""
    second = 4.0 if ratio == 0.5 else 3.0
    mass, hard = 1.0 + second * ratio**2, 4e4 + 2e4 * ratio**2
    b = lw.Builder("one", gravity=(0, 0, -G * (1.0 + second * ratio) / mass)).body("mass", mass)
    b.joint("rail", lw.Prismatic((0, 0, 1)), "world", "mass").surface("floor", lw.Plane())
    m = b.touch("foot", "mass", stiffness=hard, damping=1.5e-3 * hard).build()
    return lw.simulate(m, [0.01], [-0.5], 0.1, 2e-4, method, locate=locate).check()


@pytest.mark.parametrize("locate", [False, True], ids=["", "located"])
@pytest.mark.parametrize(("method", "tie"), mark_slow_pairs(METHODS, TIED))
def test_coupled_masses_bounce_as_one_mass(tie: str, method: str, locate: bool) -> None:
    build, ratio = TIED[tie]
    m = build()
    run = lw.simulate(m, [0.01] * m.nq, [-0.5] * m.nv, 0.1, 2e-4, method, locate=locate).check()
    one = alone(ratio, method, locate)
    assert run["contact.state"].max() > 1.0
    assert run.q[:, 0] == pytest.approx(one.q[:, 0], abs=1e-14)
    assert run["contact.energy"] == pytest.approx(one["contact.energy"], abs=1e-12)
    assert run["work"] == pytest.approx(one["work"], abs=1e-12)
    assert run["contact.since"][:, 0] == pytest.approx(one["contact.since"][:, 0], abs=1e-12)
