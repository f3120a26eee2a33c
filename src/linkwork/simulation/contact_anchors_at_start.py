"""Anchors of compliant contacts at the start of a run, chosen so that contacts at rest begin in static equilibrium.

The tangential spring of a compliant contact connects the contact point with its anchor on the surface. An unstretched
spring would load suddenly and overshoot, and a body laid on an incline near the friction limit would slip. Contacts at
rest therefore start with stretched springs. Their forces are the tangential parts of the smallest contact forces that
cancel the accelerations of all contacts at rest, limited by static friction. A contact is at rest if it touches, and
neither slides nor rolls.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.algorithms.compliant_contact import STICKING, Memory, tangential
from linkwork.algorithms.contact_kinematics import contact_kinematics, contact_rows
from linkwork.algorithms.kinematics import subspaces
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.mimic_reduction import for_mimic_joints, to_tree
from linkwork.algorithms.solver_choice import SolverChoice
from linkwork.simulation.runners.run_kernels import kernel_of
from linkwork.simulation.simulation_problem import Problem
from linkwork.spatial.scalar import Array, dot, where
from linkwork.tolerances import RANK

SWEEPS = 200  # number of projected Gauss-Seidel sweeps; needed only if the smallest forces exceed a friction limit


def with_anchors_at_start(problem: Problem, target: str) -> Problem:
    """Return the problem of a new run, with an anchor and the state "sticking" for each compliant contact at rest.

    The forces of a sampled controller are not taken into account. If the mechanism has loops, clutches or brakes, all
    contacts start in the state "apart". `target` is "cpu" or "numpy".
    """
    anchored = SolverChoice.by_constraints(_with_anchors, lambda problem, _: problem)
    return anchored.of(problem.mechanism)(problem, target)


def _with_anchors(problem: Problem, target: str) -> Problem:
    """Return the problem as `with_anchors_at_start`, for a mechanism without constraints."""
    m, batch, motion = problem.mechanism, problem.batch, problem.start.motion
    if problem.rigid or not motion.contact_memory.size:
        return problem
    n = len(m.contact_pairs)
    values = list(problem.values.values())
    cores = [(m.nq,), (m.nv,), *map(problem.core, problem.values)]
    results = [(m.nv, m.nv), (3 * n, m.nv), (m.nv,), (n, 8)]

    def one(q: Array, v: Array, *values: Array) -> tuple[Array, ...]:
        return _equilibrium_data(problem, q, v, dict(zip(problem.values, values, strict=True)))

    if target == "numpy":
        each = []
        for index in np.ndindex(batch):
            now, given = problem.member(index)
            each.append(one(now.q, now.v, *given.values()))
        M, J, a, facts = (
            np.array(x).reshape(*batch, *shape) for x, shape in zip(zip(*each, strict=True), results, strict=True)
        )
    else:
        kernel = kernel_of(problem, ("start", repr(list(problem.parameters))), one, cores, results)
        M, J, a, facts = kernel.over_batch([motion.q, motion.v, *values], batch, None)[0]
    limits, stiffness, points, normals = facts[..., 0], facts[..., 1], facts[..., 2:5], facts[..., 5:]
    touches = limits > 0.0
    if not touches.any():
        return problem
    J = J * np.repeat(touches, 3, axis=-1)[..., None]
    W, r = J @ np.linalg.solve(M, np.swapaxes(J, -1, -2)), (J @ a[..., None])[..., 0]
    force = _holding_friction(W, np.where(np.isfinite(r), r, 0.0), limits, normals)
    stored = np.array(motion.contact_memory)
    stored[..., 0] = np.where(touches, STICKING, stored[..., 0])
    anchors = points + force / stiffness[..., None]
    stored[..., 1:4] = np.where(touches[..., None], anchors, stored[..., 1:4])
    return replace(problem, start=problem.start.moved(contact_memory=stored))


def _equilibrium_data(problem: Problem, q: Array, v: Array, values: dict[str, Array]) -> tuple[Array, ...]:
    """Return the mass matrix, the contact Jacobian, the joint accelerations, and eight numbers (n, 8) for each of n
    contacts, at q (nq,) [rad, m] and v (nv,) [rad/s, m/s].

    The mass matrix is (nv, nv). The Jacobian (3 n, nv) gives the contact velocities [m/s] in the axes of the surfaces.
    The accelerations (nv,) [rad/s^2 or m/s^2] are those without friction. The eight numbers of a contact are the static
    friction limit [N], the tangential stiffness [N/m], the contact point (3,) [m] and the normal (3,). The friction
    limit is 0 if the contact slides, rolls or does not touch. The point and the normal are in the frame of the surface.
    `values` are the parameter values of one batch member.
    """
    system = problem.system(values)
    m = system.mechanism
    place, rate = to_tree(m, ("q", "v"), (q, v))
    there, poses = contact_kinematics(m.tree, place, rate)
    points, count = [at.point for at in there], len(there)
    system = replace(system, memory=Memory([STICKING] * count, points, [0.0] * count))
    loads, S = system.loads(0.0, q, v, np.zeros(m.nv)), subspaces(m.tree, place)
    assert loads.touching is not None
    rows, facts = [], []
    for pair, found in zip(m.contact_pairs, loads.touching.contacts, strict=True):
        contact, at, n = pair.contact, found.at, found.at.normal
        slip, slow = tangential(n, at.velocity), contact.rest_speed * contact.rest_speed
        rests = (at.distance < 0.0) & (dot(slip, slip) <= slow) & (dot(at.rolling, at.rolling) <= slow)
        limit = where(rests, contact.friction[0] * dot(n, found.force), 0.0)
        facts.append([limit, contact.tangential_stiffness, *at.point, *n])
        rows.append(contact_rows(m.tree, poses, S, pair, at)[:3] @ m.spread)
    M = for_mimic_joints("mass_matrix", mass_matrix, ("q",))(m, q)
    return M, np.concatenate(rows), system.acceleration(q, v, loads), np.array(facts)


def _holding_friction(W: Array, r: Array, limits: Array, normals: Array) -> Array:
    """Return friction forces (..., n, 3) [N], at most `limits` (..., n), that cancel the accelerations of n contacts.

    Without contact forces, the contact accelerations are r (..., 3 n) [m/s^2]; W (..., 3 n, 3 n) [1/kg] is their change
    per unit contact force. The solution has normal forces too, which cancel the accelerations along the unit `normals`
    (..., n, 3); the result contains only the tangential forces. If the smallest tangential forces exceed a limit,
    projected Gauss-Seidel sweeps find forces within the limits.
    """
    force = -(np.linalg.pinv(W, rcond=RANK, hermitian=True) @ r[..., None])[..., 0]
    along = _tangential_parts(force.reshape(normals.shape), normals)
    for _ in range(SWEEPS if (np.linalg.norm(along, axis=-1) > limits).any() else 0):
        for k in range(limits.shape[-1]):
            own = slice(3 * k, 3 * k + 3)
            left = (W[..., own, :] @ force[..., None])[..., 0] + r[..., own]
            softest = np.linalg.eigvalsh(W[..., own, own])[..., -1:]
            wanted = force[..., own] - np.divide(left, softest, out=np.zeros_like(left), where=softest > 0.0)
            friction = _tangential_parts(wanted, normals[..., k, :])
            size, most = np.linalg.norm(friction, axis=-1, keepdims=True), limits[..., k, None]
            clip = np.where(size > most, most / np.where(size > 0.0, size, 1.0), 1.0)
            force[..., own] = wanted - friction * (1.0 - clip)
    return _tangential_parts(force.reshape(normals.shape), normals)


def _tangential_parts(force: Array, normals: Array) -> Array:
    """Return the parts (..., 3) [N] of `force` (..., 3) [N] that are tangential to surfaces with unit `normals` (...,
    3).
    """
    return force - normals * (force * normals).sum(axis=-1, keepdims=True)
