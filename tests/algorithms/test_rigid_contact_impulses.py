"""Rigid contact impulses satisfy Signorini's condition, Newton's and Coulomb's laws and match other solutions."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import brentq

import linkwork as lw
from linkwork.algorithms.contact_kinematics import contact_kinematics, contact_rates
from linkwork.algorithms.rigid_contact import (
    RigidContact,
    axes,
    separating_displacement,
    solve_impulses,
    solve_with_restitution,
    work,
)
from linkwork.algorithms.tangent_space import integrate
from linkwork.compiler.kernel import Kernel

DOFS = 6


def mass(rng: np.random.Generator, size: int = DOFS) -> np.ndarray:
    A = rng.normal(size=(size, size))
    return A @ A.T + size * np.eye(size)


def facing(rng: np.random.Generator, M: np.ndarray, friction: float, bounce: float = 0.0) -> RigidContact:
    K = rng.normal(size=(3, len(M)))
    return RigidContact(True, K, np.linalg.solve(M, K.T), friction, bounce)


def size_of(x: np.ndarray) -> float:
    return float(np.linalg.norm(x))


def law_violations(one: RigidContact, p: np.ndarray, v: np.ndarray) -> dict[str, float]:
    """Violation of each contact law: of speeds [m/s] and of normalised impulses."""
    u, p = one.K @ v, p / max(1.0, np.linalg.norm(p))
    limit = one.friction * p[0]
    size, slip = size_of(p[1:]), size_of(u[1:])
    return {
        "inwards": max(0.0, one.bounce - u[0]),
        "pulls": max(0.0, -p[0]),
        "apart": abs(p[0] * (u[0] - one.bounce)),
        "cone": max(0.0, size - limit),
        "dissipation": abs(p[1:] @ u[1:] + limit * slip),  # of all forces within the limit the one that takes most
    }


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_all_contact_laws_hold_for_coupled_contacts(count: int) -> None:
    rng = np.random.default_rng(count)
    seen = set()
    for _ in range(20):
        M, v = mass(rng), 3.0 * rng.normal(size=DOFS)
        contacts = [facing(rng, M, rng.uniform(0.0, 0.4), 0.5 * (count < 4)) for _ in range(count)]
        found = solve_impulses(contacts, v, np.zeros((count, 3)))
        assert found.agreed == 1.0
        assert found.v == pytest.approx(v + sum(one.W @ p for one, p in zip(contacts, found.p, strict=True)), abs=1e-12)
        for one, p in zip(contacts, found.p, strict=True):
            assert max(law_violations(one, p, found.v).values()) < 1e-10
            inside = size_of(p[1:]) < one.friction * p[0] * (1.0 - 1e-6)
            seen.add("apart" if p[0] == 0.0 else "sticks" if inside else "slides")
    assert seen >= {"apart", "slides"}


def ill_conditioned_contacts(seed: int, freedoms: int, count: int) -> tuple[list[RigidContact], np.ndarray]:
    """Contacts that may jam, with constraint rows of low rank and masses that differ by a factor of some hundreds."""
    rng = np.random.default_rng([seed, freedoms, count])
    A = rng.normal(size=(freedoms, freedoms))
    M = A @ A.T + (freedoms if seed % 2 else 0.1) * np.eye(freedoms)
    v = 3.0 * rng.normal(size=freedoms)
    return [facing(rng, M, rng.uniform(0.0, 0.5 if seed % 3 else 1.0)) for _ in range(count)], v


def largest_violation(contacts: list[RigidContact], v: np.ndarray, p: np.ndarray, after: np.ndarray) -> float:
    """Largest violation of any contact law relative to the speeds, and relative energy gain."""
    scale = max(float(np.abs(one.K @ v).max()) for one in contacts)
    broken = max(max(law_violations(one, x, after).values()) for one, x in zip(contacts, p, strict=True))
    return max(broken, work(contacts, p, v, after) / scale) / scale


@pytest.mark.parametrize("freedoms", [1, 2, 3, 6])
def test_contact_solver_converges_for_ill_conditioned_contacts(freedoms: int) -> None:
    for count, seed in product((1, 2, 3, 6), range(8)):
        contacts, v = ill_conditioned_contacts(seed, freedoms, count)
        found = solve_impulses(contacts, v, np.zeros((count, 3)))
        assert found.agreed == 1.0
        assert largest_violation(contacts, v, found.p, found.v) < 1e-10


@pytest.mark.slow
def test_contact_solver_converges_for_nearly_all_jamming_contacts() -> None:
    """Up to twelve contacts with up to twelve freedoms. Contacts without a solution gain no energy either."""
    left = 0
    for freedoms, count, seed in product((1, 2, 3, 4, 6, 9, 12), (1, 2, 3, 5, 8, 12), range(10, 20)):
        contacts, v = ill_conditioned_contacts(seed, freedoms, count)
        found = solve_impulses(contacts, v, np.zeros((count, 3)))
        left += found.agreed != 1.0
        assert found.agreed != 1.0 or largest_violation(contacts, v, found.p, found.v) < 1e-10
        assert work(contacts, found.p, v, found.v) < 1e-9
    assert left <= 4


@pytest.mark.parametrize(("freedoms", "count"), [(1, 2), (2, 3), (3, 2), (9, 4)])
def test_compiled_contact_solver_results_do_not_depend_on_the_batch(freedoms: int, count: int) -> None:
    def answer(rows: np.ndarray, responses: np.ndarray, frictions: np.ndarray, v: np.ndarray) -> tuple[object, ...]:
        each = zip(rows, responses, frictions, strict=True)
        found = solve_impulses([RigidContact(True, K, W, mu, 0.0) for K, W, mu in each], v, np.zeros((count, 3)))
        return found.v, found.p, np.array([found.iterations, found.agreed])

    shapes = [(count, 3, freedoms), (count, freedoms, 3), (count,), (freedoms,)]
    kernel = Kernel("agree", answer, shapes, [(freedoms,), (count, 3), (2,)], key=f"agree {freedoms} {count}")
    members = [ill_conditioned_contacts(seed, freedoms, count) for seed in range(20)]
    given = [
        np.array([[getattr(one, name) for one in contacts] for contacts, _ in members])
        for name in ("K", "W", "friction")
    ]
    given.append(np.array([v for _, v in members]))
    together = kernel.over_batch(given, (20,), 1)[0]
    for k, (contacts, v) in enumerate(members):
        alone = kernel.over_batch([x[k : k + 1] for x in given], (1,), 1)[0]
        for many, one in zip(together, alone, strict=True):
            assert np.array_equal(many[k], one[0])
        assert together[2][k, 1] == 1.0
        assert largest_violation(contacts, v, together[1][k], together[0][k]) < 1e-10


def test_open_contacts_have_no_impulse() -> None:
    rng = np.random.default_rng(1)
    M, v = mass(rng), rng.normal(size=DOFS)
    one, other = facing(rng, M, 0.5), facing(rng, M, 0.5)._replace(acts=False)
    both = solve_impulses([one, other], v, np.ones((2, 3)))
    alone = solve_impulses([one], v, np.ones((1, 3)))
    assert both.v == pytest.approx(alone.v, abs=1e-12)
    assert (both.p[1] == 0.0).all()


def test_sliding_direction_of_a_contact_matches_a_search_over_all_directions() -> None:
    rng = np.random.default_rng(2)
    slid = 0
    for _ in range(30):
        M, v = mass(rng), 3.0 * rng.normal(size=DOFS)
        one = facing(rng, M, 0.2)
        found = solve_impulses([one], v, np.zeros((1, 3)))
        G, u = one.K @ one.W, one.K @ v

        def impulse(angle: float, G: np.ndarray = G, u: np.ndarray = u) -> np.ndarray:
            along = -0.2 * np.array([np.cos(angle), np.sin(angle)])
            return -u[0] / (G[0, 0] + G[0, 1:] @ along) * np.array([1.0, *along])

        def across(angle: float, G: np.ndarray = G, u: np.ndarray = u) -> float:
            slip = (u + G @ impulse(angle))[1:]
            return slip[1] * np.cos(angle) - slip[0] * np.sin(angle)

        if u[0] > 0.0 or size_of(found.p[0, 1:]) < 0.2 * found.p[0, 0] * 0.999:
            continue
        angles = np.linspace(-np.pi, np.pi, 721)
        roots = [
            float(np.asarray(brentq(across, a, b, xtol=1e-15)))
            for a, b in pairwise(angles)
            if across(a) * across(b) < 0
        ]
        solutions = [impulse(angle) for angle in roots]
        assert min(np.abs(found.p[0] - p).max() for p in solutions) < 1e-10
        slid += 1
    assert slid > 5


def planar_contact(rng: np.random.Generator, M: np.ndarray, friction: float) -> RigidContact:
    K = rng.normal(size=(3, len(M)))
    K[2] = 0.0  # nothing moves across: friction has two directions only, and all cases can be tried
    return RigidContact(True, K, np.linalg.solve(M, K.T), friction, 0.0)


def all_planar_solutions(contacts: list[RigidContact], v: np.ndarray) -> list[np.ndarray]:
    """All impulses (n, 2) of planar contacts that satisfy the contact laws, by enumeration of the cases."""
    rows = np.concatenate([one.K[:2] for one in contacts])
    G, u0 = rows @ np.concatenate([one.W[:, :2] for one in contacts], axis=1), rows @ v
    found = []
    for case in product(("apart", "sticks", "left", "right"), repeat=len(contacts)):
        A, b = np.eye(len(u0)), np.zeros(len(u0))
        for k, (how, one) in enumerate(zip(case, contacts, strict=True)):
            n, t = 2 * k, 2 * k + 1
            if how != "apart":
                A[n], b[n] = G[n], -u0[n]
            if how == "sticks":
                A[t], b[t] = G[t], -u0[t]
            elif how != "apart":
                A[t, n] = one.friction if how == "right" else -one.friction
        p = np.linalg.solve(A, b)
        u = u0 + G @ p
        for how, one, (pn, pt), (un, ut) in zip(case, contacts, p.reshape(-1, 2), u.reshape(-1, 2), strict=True):
            side = 1.0 if how == "right" else -1.0
            good = un >= -1e-12 if how == "apart" else pn >= 0.0
            good = good and (how != "sticks" or abs(pt) <= one.friction * pn)
            if not (good and (how in ("apart", "sticks") or side * ut >= 0.0)):
                break
        else:
            found.append(p.reshape(-1, 2))
    return found


@pytest.mark.parametrize("count", [1, 2])
def test_impulses_of_planar_contacts_are_one_of_all_enumerated_solutions(count: int) -> None:
    rng = np.random.default_rng(10 + count)
    for _ in range(30):
        M, v = mass(rng), rng.normal(size=DOFS)
        contacts = [planar_contact(rng, M, 0.4) for _ in range(count)]
        found = solve_impulses(contacts, v, np.zeros((count, 3)))
        assert min(np.abs(found.p[:, :2] - p).max() for p in all_planar_solutions(contacts, v)) < 1e-10
        assert np.abs(found.p[:, 2]).max() < 1e-10


def test_contact_axes_are_orthonormal_and_the_first_is_the_normal() -> None:
    rng = np.random.default_rng(4)
    for n in (*np.eye(3), *-np.eye(3), *rng.normal(size=(20, 3))):
        n = n / np.linalg.norm(n)
        own = axes(n)
        assert (own[:, 0] == n).all()
        assert own.T @ own == pytest.approx(np.eye(3), abs=1e-15)


def test_restitution_never_adds_energy() -> None:
    rng, mended = np.random.default_rng(5), 0
    for _ in range(100):
        M, v = mass(rng), rng.normal(size=DOFS)
        contacts = []
        for _ in range(2):
            one = facing(rng, M, 0.5)
            contacts.append(one._replace(bounce=0.9 * max(0.0, -(one.K[0] @ v))))
        plain = solve_impulses(contacts, v, np.zeros((2, 3)))
        found = solve_with_restitution(contacts, v, v, np.zeros((2, 3)))
        energy = 0.5 * (found.v @ M @ found.v - v @ M @ v)
        assert energy == pytest.approx(work(contacts, found.p, v, found.v), abs=1e-10)
        assert energy < 1e-10
        for one, p in zip(contacts, found.p, strict=True):
            assert size_of(p[1:]) <= one.friction * p[0] + 1e-12
            assert one.K[0] @ found.v > -1e-10
        if work(contacts, plain.p, v, plain.v) > 1e-9:
            mended += 1
            assert energy == pytest.approx(0.0, abs=1e-9)
        else:
            assert (found.p == plain.p).all()
    assert mended > 0


def test_contact_that_an_opposite_contact_blocks_does_not_bounce() -> None:
    rng = np.random.default_rng(7)
    one = facing(rng, mass(rng, 1), 0.0)
    v = -one.K[0]  # onto it
    one = one._replace(bounce=-0.5 * (one.K[0] @ v))
    found = solve_with_restitution([one, RigidContact(True, -one.K, -one.W, 0.0, 0.0)], v, v, np.zeros((2, 3)))
    assert found.agreed == 1.0
    assert one.K[0] @ found.v == pytest.approx(0.0, abs=1e-11)
    assert (found.p[:, 0] >= 0.0).all()
    alone = solve_with_restitution([one], v, v, np.zeros((1, 3)))
    assert one.K[0] @ alone.v == pytest.approx(one.bounce, rel=1e-8)


def test_penetration_of_contacts_is_removed_by_the_smallest_displacement() -> None:
    rng = np.random.default_rng(6)
    M = mass(rng)
    contacts = [facing(rng, M, 0.5) for _ in range(3)]
    lack = np.array([0.01, 0.02, -1.0])
    displacement = separating_displacement(contacts, lack)
    rows = np.array([one.K[0] for one in contacts])
    assert (rows @ displacement >= lack - 1e-10).all()
    # p is a nonnegative combination of rows; contacts pushed out further than needed contribute nothing
    p = M @ displacement
    parts = np.linalg.lstsq(rows.T, p, rcond=None)[0]
    assert rows.T @ parts == pytest.approx(p, abs=1e-9)
    assert (parts >= -1e-9).all()
    assert np.abs(parts * (rows @ displacement - lack)).max() < 1e-9
    assert (separating_displacement(contacts, -np.ones(3)) == 0.0).all()


def test_rates_of_contact_velocities_match_finite_differences() -> None:
    rng = np.random.default_rng(8)
    b = lw.Builder("two", gravity=(0, 0, 0))
    for name in ("a", "b"):
        b.body(name, 1.0, com=(0.1, -0.05, 0.02), inertia=(0.01, 0.02, 0.025)).joint(name, lw.Free(), "world", name)
    b.body("c", 1.0, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.025))
    b.joint("c", lw.Ball(), "a", "c", at=(0.1, 0, 0)).touch("skin", "c", (0.05, 0.02, 0.01), radius=0.1)
    b.surface("round", lw.Sphere(0.3), "b").surface("flat", lw.Plane(), "b", at=(0, 0.1, 0), rpy=(0.3, 0.2, 0.1))
    m = b.build()
    q, v, a = m.by_joint(lambda j: j.random(rng)), rng.normal(size=m.nv), rng.normal(size=m.nv)
    met, _ = contact_kinematics(m, q, v)
    own = [axes(at.normal) for at in met]
    h = 1e-5
    ahead, behind = (contact_kinematics(m, integrate(m, q, v * x + a * (0.5 * x * x)), v + a * x)[0] for x in (h, -h))
    for k, found in enumerate(contact_rates(m, q, v, a, own)):
        assert found.speeds == pytest.approx([*(own[k].T @ met[k].velocity), *(own[k].T @ met[k].turning)], abs=1e-13)
        normal = (ahead[k].normal - behind[k].normal) / (2.0 * h)
        for name, rates in (("velocity", found.rates[:3]), ("turning", found.rates[3:])):
            one, other, now = (getattr(at, name) for at in (ahead[k], behind[k], met[k]))
            along = (ahead[k].normal @ one - behind[k].normal @ other) / (2.0 * h)
            across = own[k].T[1:] @ ((one - other) / (2.0 * h) - normal * (met[k].normal @ now))
            assert rates == pytest.approx([along, *across], abs=1e-7)
