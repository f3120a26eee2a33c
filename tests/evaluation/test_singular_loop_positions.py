"""At singular positions of loops, directions that are free only there are reported; regular positions have none."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array

Y = (0, 1, 0)


def links(*lengths: float, last: str = "revolute", ground: float = 0.0) -> lw.Mechanism:
    """A chain of links in the plane x, z, whose end is tied to the world at x = ground, by a pin or on the line x."""
    b, parent, at = lw.Builder("chain"), "world", 0.0
    for k, length in enumerate(lengths):
        b.body(f"link {k}", 1.0, (length / 2, 0, 0), (0.01, 0.02, 0.02))
        b.joint(f"pin {k}", lw.Revolute(Y), parent, f"link {k}", at=(at, 0, 0))
        parent, at = f"link {k}", length
    kind = {"revolute": lw.Revolute(Y), "line": lw.PointOnLine((1, 0, 0))}[last]
    return b.close("end", kind, "world", parent, at=(ground, 0, 0), to=(at, 0, 0)).build()


def spans(directions: Array, wanted: Array) -> bool:
    """Whether rows (k, nv) span the same space as those of an orthonormal array (k, nv)."""
    return directions.shape == wanted.shape and np.abs(wanted.T @ wanted - directions.T @ directions).max() < 1e-6


def branches(crank: float) -> tuple[Array, Array]:
    """Coordinates (3,) of the parallelogram with the links 0.2, 0.5, 0.2, 0.5 m, and of the crossed one.

    As complex numbers x - i z: the third joint of the crossed one is mirrored on the diagonal.
    """
    B, D = 0.2 * np.exp(1j * crank), 0.5
    C = B + 0.5
    along = (D - B) / abs(D - B)
    found = []
    for elbow in (C, B + along**2 * np.conj(C - B)):
        turns = np.angle([B, elbow - B, D - elbow])
        found.append(np.array([turns[0], turns[1] - turns[0], (turns[2] - turns[1]) % (2.0 * np.pi)]))
    return found[0], found[1]


def test_flat_parallelogram_has_mobility_two_and_one_nearby() -> None:
    """The branches of the parallelogram and of the crossed one intersect there."""
    m = links(0.2, 0.5, 0.2, ground=0.5)
    flat = np.array([0.0, 0.0, np.pi])
    check = m.check_loops(flat)
    assert check.mobility == 2
    assert spans(check.singular, check.free)
    assert str(check).splitlines()[-1] == "singular position: 2 of the free directions exist at this position only"
    for q in branches(0.05):
        near = m.check_loops(q)
        assert (near.mobility, near.singular.shape) == (1, (0, 3))
        assert "singular" not in str(near)
        towards = (q - flat) / np.linalg.norm(q - flat)
        assert abs(np.linalg.norm(check.free @ towards) - 1.0) < 0.01  # each branch leaves along a free direction


def test_slider_crank_with_equal_links_is_singular_when_folded() -> None:
    """Where the slider passes the crank's pin, crank and rod can also rotate together without the slider."""
    m = links(0.3, 0.3, last="line")
    for crank in (0.2, 1.0, 2.0):
        check = m.check_loops([crank, -2.0 * crank])
        assert (check.mobility, len(check.singular)) == (1, 0)
    three = links(0.3, 0.3, 0.3, 0.3, ground=0.0)
    folded = three.check_loops([0.7, np.pi, 0.0, np.pi])
    assert folded.mobility > three.check_loops([0.7, np.pi / 2, np.pi / 2, np.pi / 2]).mobility
    assert len(folded.singular)


def test_stretched_arm_held_by_a_rod_can_only_swing_as_a_whole() -> None:
    """Bending is free to first order but violates the rod to second order; swinging is free."""
    b = lw.Builder("arm")
    for name, parent, x in (("upper", "world", 0.0), ("lower", "upper", 1.0)):
        b.body(name, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)).joint(name, lw.Revolute(Y), parent, name, at=(x, 0, 0))
    m = b.close("rod", lw.Rod(2.0), "world", "lower", to=(1, 0, 0)).build()
    for swing in (0.0, 0.4, -2.0):
        check = m.check_loops([swing, 0.0])
        assert (check.mobility, check.rank) == (2, 0)
        assert spans(check.singular, np.array([[0.0, 1.0]]))


@pytest.mark.parametrize(
    "name", ["four_bar", "slider_crank", "five_bar", "scissor_lift", "stewart_platform", "closed_two_body_robot"]
)
def test_positions_that_are_not_singular_have_no_singular_directions(name: str) -> None:
    m = lw.example(name)
    assert m.check_loops(m.keyframes["start"].q).singular.shape == (0, m.nv)


def test_open_loops_add_no_constraints() -> None:
    """They need not be closed, and neither count as redundant nor add constraint rows."""
    m = links(0.2, 0.5, 0.2, ground=0.5)
    check = m.with_parameters({"end.closed": 0.0}).check_loops([0.1, 0.2, 0.3])
    assert (check.mobility, check.rank, check.nc, check.redundant, check.singular.shape) == (3, 0, 0, {}, (0, 3))
    assert m.with_parameters({"end.closed": 0.0}).independent([0.1, 0.2, 0.3]).joints == ["pin 0", "pin 1", "pin 2"]


def test_independent_velocities_at_positions_with_open_loops_are_rejected() -> None:
    m = links(0.2, 0.5, 0.2, ground=0.5)
    with pytest.raises(lw.LinkworkError, match=r"not closed at q: loop 'end' has a closure error of .*use d\.assemble"):
        m.independent([0.1, 0.0, 0.0])
