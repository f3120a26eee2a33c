"""The families of contacts of a mechanism, and the solver of its equations, follow from what was built."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.point_contacts import PointContacts
from linkwork.simulation.solid_contacts import SolidContacts

FAMILIES = {"none": [], "points": [PointContacts], "solids": [SolidContacts], "both": [PointContacts, SolidContacts]}


def scene(contacts: str) -> lw.Mechanism:
    """Return two free bodies above a floor, with contacts of points, of solids, of both or of neither."""
    b = lw.Builder("scene").surface("floor", lw.Plane())
    for name in ("ball", "sled"):
        b.body(name, 1.0, inertia=(0.004,) * 3).joint(f"{name} moves", lw.Free(), "world", name)
    if contacts in ("points", "both"):
        for k in range(3):
            b.touch(f"runner {k}", "sled", at=(np.cos(2.1 * k), np.sin(2.1 * k), 0), stiffness=1e4)
    if contacts in ("solids", "both"):
        b.geometry("ball", lw.Sphere(0.1), role="collision").collide("all", friction=0.5, stiffness=1e4, damping=10.0)
    return b.build()


@pytest.mark.parametrize("contacts", FAMILIES)
def test_contact_families_are_those_with_pairs(contacts: str) -> None:
    m = scene(contacts)
    families = contact_families(m)
    assert [type(family) for family in families] == FAMILIES[contacts]
    assert sum(len(family.pairs) for family in families) == len(m.contact_pairs) + len(m.solid_pairs)


def test_rates_of_the_families_are_those_of_springs_on_one_mass() -> None:
    m = scene("both")
    points, solids = contact_families(m)
    M, weight = np.diag([1.0] * 3 + [1e9] * 3 + [1.0] * 3 + [1e9] * 3), 2.0 * 9.81
    (rates,) = points.rates(M, m.neutral(), weight)
    assert rates.stiffness == pytest.approx(np.sqrt(3.0 * 1e4), rel=1e-6)  # three springs act on the sled
    (rates,) = solids.rates(M, m.neutral(), weight)
    assert rates.stiffness == pytest.approx(np.sqrt(8.0 * 1e4), rel=1e-6)  # four points each below and above the ball


@pytest.mark.parametrize(("mimic", "brake"), [(False, False), (False, True), (True, False), (True, True)])
def test_solver_follows_from_mimic_joints_and_constraints(mimic: bool, brake: bool) -> None:
    b, parent = lw.Builder("arm"), "world"
    for k in range(3):
        b.body(f"link {k}", 1.0, inertia=(0.1, 0.1, 0.1))
        b.joint(f"joint {k}", lw.Revolute(), parent, f"link {k}")
        parent = f"link {k}"
    if mimic:
        b.mimic("joint 1", "joint 0", 2.0)
    if brake:
        b.brake("brake", "joint 2", engaged=True)
    m = b.build()
    names = {(False, False): "tree", (False, True): "articulated", (True, False): "mimic", (True, True): "dense"}
    assert SolverChoice("tree", "articulated", "mimic", "dense").of(m) == names[mimic, brake]
    assert SolverChoice.by_joints("tree", "mimic").of(m) == ("mimic" if mimic else "tree")
    assert SolverChoice.by_constraints("free", "constrained").of(m) == ("constrained" if brake else "free")
    assert SolverChoice.by_joints("tree", "mimic").of(m.tree) == "tree"
