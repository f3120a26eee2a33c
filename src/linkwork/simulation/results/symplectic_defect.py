"""The symplectic defect of a step, computed from the derivative of the step (S4, section 2.2.2).

Local coordinates x are defined by q = integrate(q_0, x). The momenta are p = T(x)^T M v, with the mass matrix M and v =
T(x) dx/dt, and the symplectic form is dx dp. Small changes (dq, dv) of a state change p by K dq + M dv, where K is the
derivative of T^T M v with respect to x at 0. A step with derivative A preserves the form if

    A^T Omega_1 A = Omega_0        Omega = [[K - K^T, M], [-M, 0]]

with Omega_0 before and Omega_1 after the step, for all dq that the loops allow.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraint_ranks import free_motions, row_scales
from linkwork.algorithms.rotor_inertia import turns_with_rotor
from linkwork.algorithms.tangent_space import tangent_rate
from linkwork.evaluation import Dynamics, compile
from linkwork.model.joints import JointKind
from linkwork.simulation.methods.method_registry import METHODS
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.runners.interactive_simulator import Simulator
from linkwork.spatial.scalar import Array

BEND = 1e-2  # [rad, m] step of a difference quotient; any size is exact, because the odd part in x is linear
STEPS = 5  # number of samples of a run from which steps are checked


def symplectic_form(d: Dynamics, q: Array, v: Array) -> Array:
    """Return the matrix Omega (2 nv, 2 nv) of the symplectic form at the state q (nq,), v (nv,).

    The form maps two changes (dq, dv) of the state, with dq (nv,) in the tangent space, to a number. `d` are the
    compiled dynamics.
    """
    m = d.mechanism
    zero, M = np.zeros(m.nv), d.mass_matrix(q)
    p = M @ v
    K = d.inverse_dynamics_derivatives(q, zero, v)[0] - d.inverse_dynamics_derivatives(q, zero, zero)[0]
    for k, x in enumerate(BEND * np.eye(m.nv)):
        turned = [np.array([tangent_rate(m, side, one) for one in np.eye(m.nv)]) @ p for side in (x, -x)]
        K[:, k] -= (turned[0] - turned[1]) / (2.0 * BEND)  # `tangent_rate` applies the inverse of T
    return np.block([[K - K.T, M], [-M, np.zeros((m.nv, m.nv))]])


def symplectic_defect(sim: Simulator, d: Dynamics) -> float:
    """Return the relative error |A^T Omega_1 A - Omega_0| / |Omega_0| with which a step preserves the symplectic form.

    A is the derivative of the step; Omega_0 and Omega_1 are the matrices of `symplectic_form` before and after the
    step, restricted to changes that satisfy the loops. The function advances the simulator `sim` by this step. `d` are
    the compiled dynamics.
    """
    m, before = sim.mechanism, sim.state
    A = sim.step_derivatives().A
    sim.step()
    after = sim.state
    first, second = (symplectic_form(d, at.q, at.v) for at in (before, after))
    free = free_motions(d.constraint_jacobian(before.q), row_scales(m, before.q)[: m.nc])
    allowed = np.block([[free, np.zeros((m.nv, m.nv))], [np.zeros((m.nv, free.shape[1])), np.eye(m.nv)]])
    after_step, form = (allowed.T @ x @ allowed for x in (A.T @ second @ A, first))
    return float(np.linalg.norm(after_step - form) / np.linalg.norm(form))


def why_no_symplectic_form(run: RunData) -> str:
    """Return the reason why the symplectic defect of a run cannot be computed; an empty text if it can."""
    m, settings = run.varied((0,) * len(run.batch)), run.settings
    if run.method not in METHODS:
        return "the method has adaptive steps"
    if not {"q", "v"} <= run.recorded.keys():
        return "q and v were not both recorded"
    if settings.controlled or settings.pushed or settings.baumgarte is not None:
        return "controllers, wrenches or Baumgarte forces act, which are not symplectic"
    if any(name in run.recorded for name in run.parameters):
        return "loops or clutches are switched"
    for one in m.frictions:
        return f"{one.label} acts, which is not symplectic"
    for joint in m.joints:
        if joint.damping.any() or joint.friction.any():
            return f"joint {joint.name!r} has a damper or friction, which are not symplectic"
        if joint.kind.nv > 1 and joint.armature.any() and _rates_differ_from_velocities(joint.kind):
            return f"the armature on joint {joint.name!r} has no Lagrangian: velocities are not rates of coordinates"
        if joint.kind.nv > 1 and _rates_differ_from_velocities(joint.kind) and turns_with_rotor(m, joint):
            return f"a rotor on joint {joint.name!r} has no Lagrangian: velocities are not rates of coordinates"
    for spring in m.line_forces:
        if spring.damping:
            return f"{spring.label} has a damper, which is not symplectic"
    for one in m.forces:
        return f"{one.label} acts, which may not be symplectic"
    for one in m.frame_constraints:
        if not all(row.holonomic for row in one.rows):
            return f"{one.label} is nonholonomic, so that the motion has no symplectic form"
    for one in m.velocity_constraints:
        names = {name for row in one.velocity_rows for name, _, _ in row.velocities}
        if any(_rates_differ_from_velocities(m.joints[name].kind) for name in names):
            return f"{one.label} is nonholonomic, so that the motion has no symplectic form"
    return ""


def _rates_differ_from_velocities(kind: JointKind) -> bool:
    """Return whether the velocities of a joint kind differ from the time derivatives of its coordinates.

    They differ for ball joints and other joints with rotations about several axes.
    """
    x, y = np.arange(1.0, kind.nv + 1.0), np.ones(kind.nv)
    return bool((kind.tangent_rate(x, y) != y).any())


def run_defect(run: RunData) -> float:
    """Return the largest symplectic defect among steps from some samples of the first batch member."""
    index, settings = (0,) * len(run.batch), run.settings
    m = run.varied(index)
    q, v = run.q[index], run.v[index]
    good = np.flatnonzero(np.isfinite(q).all(axis=-1))
    rows = good[np.unique(np.linspace(0, len(good) - 1, STEPS).round().astype(int))]
    assert settings.dt is not None
    order = settings.order if METHODS[run.method].symmetric else None
    sim = Simulator(m, q[rows[0]], None, settings.dt, run.method, settings.stops, order)
    d, found = compile(m, check=False), []
    for row in rows:
        sim.state = (0.0, q[row], v[row])
        found.append(symplectic_defect(sim, d))
    return max(found)
