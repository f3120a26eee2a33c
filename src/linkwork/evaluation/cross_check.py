"""Cross-check: computes the dynamics of the same states with every formulation, and reports the differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.errors import LinkworkError, NotConverged
from linkwork.evaluation.constrained_formulations import independent_velocities
from linkwork.evaluation.dynamics import compile
from linkwork.evaluation.floating_point_failures import failures_named
from linkwork.evaluation.formulation_registry import Formulation, formulations
from linkwork.model.mechanism import Mechanism
from linkwork.model.physical_validity import require_inertia
from linkwork.spatial.scalar import Array

# distances from a keyframe [rad or m] at which the search for closed loops starts, in turn
CLOSE_TO = (0.3, 0.1, 0.03, 0.01)
QUANTITIES = ("accelerations", "joint forces", "mass matrix", "reactions")


@dataclass(frozen=True)
class CrossCheck:
    """Result of `cross_check`: the largest relative differences between independent formulations.

    `print` shows the result as a table. The property `worst` (float) is the largest of all differences.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    samples : int
        Number of random states.
    references : dict of str
        For each quantity, the formulation with which the others are compared: the first that computes it.
    differences : dict of dict of float
        Largest relative difference from the reference, by formulation and quantity, over all states.
    left_out : dict of str
        Formulations that do not apply to the mechanism, each with the reason.

    Examples
    --------
    >>> check = lw.cross_check(lw.example("double_pendulum"), samples=5)
    >>> sorted(check.differences["newton-euler"])[:2]
    ['accelerations', 'joint forces']
    >>> check.worst < 1e-10
    True

    """

    mechanism: str
    samples: int
    references: dict[str, str]
    differences: dict[str, dict[str, float]]
    left_out: dict[str, str]

    @property
    def worst(self) -> float:
        """Largest relative difference between any two formulations, over all quantities."""
        return max((d for row in self.differences.values() for d in row.values()), default=0.0)

    def __str__(self) -> str:
        wide = max(map(len, (*self.differences, *self.left_out, "formulation")))
        lines = [
            f"{self.mechanism}: largest relative differences over {self.samples} random states",
            " ".join([f"{'formulation':{wide}}", *(f"{quantity:>13}" for quantity in QUANTITIES)]),
        ]
        for name, row in self.differences.items():
            cells = {quantity: f"{difference:.1e}" for quantity, difference in row.items()}
            cells |= {quantity: "reference" for quantity, source in self.references.items() if source == name}
            lines.append(" ".join([f"{name:{wide}}", *(f"{cells.get(quantity, '-'):>13}" for quantity in QUANTITIES)]))
        lines += [f"{name:{wide}} does not apply: {reason}" for name, reason in self.left_out.items()]
        return "\n".join([*lines, f"worst: {self.worst:.1e}"])


def cross_check(mechanism: Mechanism, samples: int = 100, seed: int = 0) -> CrossCheck:
    """Compute the dynamics of random states with every independent formulation, and compare the results.

    `cross_check` compares accelerations, joint forces, the mass matrix and reaction wrenches. Differences of correct
    implementations are round-off, about 1e-12. For a mechanism with loops, the states have closed loops near the first
    keyframe, or near random positions if there is no keyframe.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    samples : int, default 100
        Number of random states, at least 1.
    seed : int, default 0
        Seed of the random states, joint forces and external wrenches.

    Returns
    -------
    CrossCheck
        Largest relative differences. `worst` is the largest of all.

    Raises
    ------
    LinkworkError
        If `samples` is less than 1, or a joint moves no inertia.
    NonFinite
        If a formulation fails at a state, for example because the mass matrix is singular.

    Examples
    --------
    >>> check = lw.cross_check(lw.example("double_pendulum"), samples=5)
    >>> sorted(check.differences) == sorted(lw.formulations)
    True
    >>> check.worst < 1e-10
    True

    """
    if samples < 1:
        raise LinkworkError(f"samples must be at least 1; got {samples}")
    m, rng = mechanism, np.random.default_rng(seed)
    if not m.nv:
        raise LinkworkError(f"{m.name} has no degrees of freedom: there is nothing to compare")
    require_inertia(m)
    references: dict[str, str] = {}  # for each quantity, the first formulation that computes it
    left_out = {name: f.why_not(m) for name, f in formulations.items() if not f.applies(m)}
    differences: dict[str, dict[str, float]] = {name: {} for name in formulations if name not in left_out}
    for sample in range(samples):
        q, v = random_state(m, rng)
        tau = rng.normal(size=m.nv) * 10.0
        wrenches = rng.normal(size=(m.nbodies, 6))
        expected: dict[str, Array] = {}
        scales = {"accelerations": _free_acceleration(m, q, v, tau, wrenches)}
        for name, row in differences.items():
            with failures_named(f"{name!r}", sample):
                found = computed_quantities(formulations[name], m, q, v, tau, wrenches)
            for quantity, value in found.items():
                if references.setdefault(quantity, name) == name:
                    expected[quantity] = value
                else:
                    difference = relative_difference(value, expected[quantity], scales.get(quantity, 0.0))
                    row[quantity] = max(row.get(quantity, 0.0), difference)
    return CrossCheck(m.name, samples, references, differences, left_out)


def random_state(m: Mechanism, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return random coordinates (nq,) and velocities (nv,) of a mechanism, with closed loops if such are found.

    `rng` generates the random numbers.
    """
    q, v = m.random(rng), rng.normal(size=m.nv)
    if not m.constrained:
        return q, v
    d = compile(m, target="numpy")
    for size in CLOSE_TO:
        near = m.integrate(m.keyframes[0].q, rng.normal(size=m.nv) * size) if m.keyframes else m.random(rng)
        try:
            q = d.assemble(near)
        except NotConverged:
            continue
        break
    return q, d.consistent(q, v)


def _free_acceleration(m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array) -> float:
    """Return the largest acceleration [rad/s^2 or m/s^2] of the mechanism with all constraints removed.

    Differences of constrained accelerations are divided by this acceleration, because the constrained accelerations
    themselves may be only round-off.
    """
    on_tree = np.zeros(m.tree.nv)
    on_tree[independent_velocities(m)] = tau
    position, velocity = to_tree(m, ("q", "v"), (q, v))
    with np.errstate(all="ignore"):  # ignored here, because the formulations report a singular mass matrix
        a = forward_dynamics(m.tree, position, velocity, on_tree, wrenches)
    return float(np.abs(a).max(initial=0.0))


def relative_difference(a: Array, b: Array, scale: float = 0.0) -> float:
    """Return the largest |a - b| over all entries, divided by the larger of max |b| and `scale`; 0 for empty arrays."""
    return float(np.abs(a - b).max() / max(np.abs(b).max(), scale, 1e-300)) if a.size else 0.0


def computed_quantities(
    f: Formulation, m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array
) -> dict[str, Array]:
    """Return the quantities that the formulation f computes in one state, by name, such as "accelerations"."""
    found = {
        "accelerations": f.forward(m, q, v, tau, wrenches),
        # the acceleration is tau here, because any acceleration can be compared
        "joint forces": f.inverse(m, q, v, tau, wrenches),
    }
    if f.mass:
        found["mass matrix"] = f.mass(m, q)
    if f.reactions:
        found["reactions"] = f.reactions(m, q, v, tau, wrenches)
    return found
