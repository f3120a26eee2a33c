"""The registry `lw.formulations`: independent formulations of the equations of motion, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.algorithms import forward_dynamics, inverse_dynamics, mass_matrix, reactions
from linkwork.algorithms.constraints.articulated_body_solver import factorize, solve_from_rest
from linkwork.algorithms.formulations import limb_dynamics, limb_systems, newton_euler, propagation, spacedyn
from linkwork.algorithms.formulations.mass_matrix_factorization import factorization
from linkwork.algorithms.kinematics import kinematics
from linkwork.algorithms.rotor_inertia import rotor_matrix, rotor_momenta
from linkwork.errors import unknown_name
from linkwork.evaluation import constrained_formulations
from linkwork.evaluation.floating_point_failures import watched
from linkwork.model.batch_broadcasting import Input, over_batch
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array


def _applies_to_every_mechanism(mechanism: Mechanism) -> str:
    """Return an empty string, for formulations that apply to every mechanism: the default of `Formulation.why_not`."""
    return ""


@dataclass(frozen=True)
class Formulation:
    """One formulation of the equations of motion. Call it with a mechanism to get functions for any batch of states.

    The functions `forward`, `inverse` and `reactions` take (mechanism, q, v, tau or a, wrenches) at one state; `mass`
    takes (mechanism, q). These four return, in the order of their attributes, accelerations (nv,), joint forces (nv,),
    the mass matrix (nv, nv) and reaction wrenches (k, 6). `mass` and `reactions` are None if the formulation does not
    compute them. `response` takes (tree, q, forces (nv, k)) and returns the accelerations (nv, k) that these k columns
    of joint forces cause at rest, without gravity. If `response` is None, these accelerations are computed with the
    formulation's mass matrix. If `closes_loops` is True, the functions apply to mechanisms with mimic joints, loops,
    clutches and brakes, otherwise to trees only. `why_not` returns the reason why the formulation does not apply to a
    mechanism, or an empty string; the functions raise a LinkworkError with the same reason. `source` cites the
    equations.
    """

    name: str
    source: str
    forward: Callable[..., Array]
    inverse: Callable[..., Array]
    mass: Callable[[Mechanism, Array], Array] | None = None
    reactions: Callable[..., Array] | None = None
    response: constrained_formulations.Response | None = None
    closes_loops: bool = False
    why_not: Callable[[Mechanism], str] = _applies_to_every_mechanism

    def applies(self, mechanism: Mechanism) -> bool:
        """Return whether the formulation applies to the mechanism."""
        return not self.why_not(mechanism)

    def with_mimics(self) -> Formulation:
        """Return the formulation extended by Lagrange multipliers to mimic joints, loops, clutches and brakes.

        A formulation that already applies to mechanisms with loops is returned unchanged.
        """
        if self.closes_loops:
            return self
        response = self.added_accelerations
        return replace(
            self,
            forward=constrained_formulations.forward(self.forward, response),
            inverse=constrained_formulations.inverse(self.inverse),
            mass=constrained_formulations.mass(self.mass),
            reactions=constrained_formulations.reactions(self.reactions, self.forward, response, self.inverse),
        )

    def added_accelerations(self, tree: Mechanism, q: Array, forces: Array) -> Array:
        """Return the accelerations (nv, k) that k columns of additional joint forces (nv, k) cause in a tree.

        Accelerations are in [rad/s^2, m/s^2], joint forces in [N m, N]; each column acts alone. q (nq,) are the
        coordinates of the tree.
        """
        if self.response:
            return self.response(tree, q, forces)
        assert self.mass
        return np.linalg.solve(self.mass(tree, q), forces)

    def __call__(self, mechanism: Mechanism) -> FormulationOf:
        """Return the formulation for one mechanism, an object with the methods of `FormulationOf`."""
        return FormulationOf(self, mechanism)


@dataclass(frozen=True, eq=False)
class FormulationOf:
    """A formulation applied to one mechanism, in plain NumPy, for any batch of states.

    Shapes, units and frames of all arguments and results are those of `Dynamics`.
    """

    formulation: Formulation
    mechanism: Mechanism

    def forward_dynamics(self, q: Any, v: Any, tau: Any, wrenches: Any = None) -> Array:
        """Return the accelerations (..., nv) [rad/s^2, m/s^2] for joint forces tau; see `Dynamics.forward_dynamics`."""
        return self._evaluate(self.formulation.forward, q, v, {"tau": tau}, wrenches, (self.mechanism.nv,))

    def inverse_dynamics(self, q: Any, v: Any, a: Any, wrenches: Any = None) -> Array:
        """Return the joint forces (..., nv) [N m, N] for accelerations a; see `Dynamics.inverse_dynamics`."""
        return self._evaluate(self.formulation.inverse, q, v, {"a": a}, wrenches, (self.mechanism.nv,))

    def _evaluate(
        self,
        function: Callable[..., Array],
        q: Any,
        v: Any,
        more: dict[str, Any],
        wrenches: Any,
        result: tuple[int, ...],
    ) -> Array:
        """Return the results of `function`, which takes one state, for a batch of states; the result shape is `result`.

        `more` is the third argument by name, tau or a.
        """
        m = self.mechanism
        wrenches = np.zeros((m.nbodies, 6)) if wrenches is None else wrenches
        inputs = {"q": Input(q, (m.nq,)), "v": Input(v, (m.nv,))}
        inputs |= {name: Input(value, (m.nv,)) for name, value in more.items()}
        inputs["wrenches"] = Input(wrenches, (m.nbodies, 6))
        run = watched(f"{self.formulation.name!r}", lambda *state: function(m, *state))
        return over_batch(run, inputs, result)


class Formulations(dict[str, Formulation]):
    """Independent formulations of the equations of motion, by name.

    `formulations[name](mechanism)` has the methods `forward_dynamics` and `inverse_dynamics` for any batch of states.
    A wrong name raises `NameNotFound`, which lists the valid names.

    Examples
    --------
    >>> list(lw.formulations)[:3]
    ['articulated bodies', 'mass matrix', 'spatial operators']
    >>> newton_euler = lw.formulations["newton-euler"](lw.example("double_pendulum"))
    >>> newton_euler.forward_dynamics([0.5, 0.0], [0.0, 0.0], [0.0, 0.0]).round(3)
    array([-1.176,  1.176])

    """

    def __missing__(self, name: str) -> Formulation:
        raise unknown_name("formulation", name, self)


# --- functions of the formulations with a common signature ---


def _articulated_response(tree: Mechanism, q: Array, forces: Array) -> Array:
    """Return the accelerations (nv, k) that joint forces (nv, k) cause in a tree, by the articulated-body algorithm.

    Each column of joint forces acts alone, at rest and without gravity. One factorization serves all k columns.
    """
    motion, none = kinematics(tree, q, np.zeros(tree.nv)), np.zeros(0)
    factors = factorize(tree, motion, np.zeros((0, tree.nv)))
    return np.array([solve_from_rest(tree, motion, factors, none, column).a for column in forces.T]).T


def _newton_euler_response(tree: Mechanism, q: Array, forces: Array) -> Array:
    """Return the accelerations (nv, k) that joint forces (nv, k) cause in a tree, by the Newton-Euler equations.

    Each column of joint forces acts alone, at rest and without gravity. See equations (6) and (12) of Schiehlen.
    """
    rest = np.zeros(tree.nv)
    return newton_euler.response(newton_euler.newton_euler(tree, q, rest, rest), forces)


def _by_mass_matrix(m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array) -> Array:
    """Return the accelerations (nv,) M^-1 (tau - bias): the bias is the inverse dynamics at zero acceleration."""
    rest = inverse_dynamics.inverse_dynamics(m, q, v, np.zeros(m.nv), wrenches).tau
    return mass_matrix.matrix_factors(m, mass_matrix.mass_matrix(m, q)).solve(tau - rest)


def _mass_matrix_inverse(m: Mechanism, q: Array, v: Array, a: Array, wrenches: Array) -> Array:
    """Return the joint forces (nv,) M a + bias: the bias is the inverse dynamics at zero acceleration."""
    return mass_matrix.mass_matrix(m, q) @ a + inverse_dynamics.inverse_dynamics(m, q, v, np.zeros(m.nv), wrenches).tau


def _by_operators(m: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array) -> Array:
    """Return the accelerations (nv,) by spatial operators (see `Factorization`): M^-1 (tau - bias).

    The mass matrix is M = H^T phi^T M^b phi H plus the rotor inertias. The operator phi H maps joint velocities to the
    twists of all bodies, and M^b has the inertias of the bodies. The bias are the joint forces at zero acceleration.
    """
    f = factorization(m, q, v, wrenches)
    return np.linalg.solve(f.mass_matrix + rotor_matrix(m), tau - f.bias)


def _operators_inverse(m: Mechanism, q: Array, v: Array, a: Array, wrenches: Array) -> Array:
    """Return the joint forces (nv,) by spatial operators (see `Factorization`): M a + bias.

    See `_by_operators` for the mass matrix M and the bias.
    """
    f = factorization(m, q, v, wrenches)
    return f.mass_matrix @ a + rotor_momenta(m, a) + f.bias


def _newton_euler_inverse(m: Mechanism, q: Array, v: Array, a: Array, wrenches: Array) -> Array:
    """Return the joint forces (nv,) from Schiehlen's minimal Newton-Euler equations: M a + k - (applied forces).

    M is the mass matrix, k (nv,) has the velocity-dependent terms, and the applied forces are gravity and wrenches.
    """
    M, k, applied = newton_euler.minimal_equations(newton_euler.newton_euler(m, q, v, np.zeros(m.nv), wrenches))
    return M @ a + k - applied


def _newton_euler_mass(m: Mechanism, q: Array) -> Array:
    """Return the mass matrix (nv, nv) of the minimal Newton-Euler equations."""
    rest = np.zeros(m.nv)
    return newton_euler.minimal_equations(newton_euler.newton_euler(m, q, rest, rest))[0]


formulations = Formulations(
    {
        f.name: f.with_mimics()
        for f in (
            Formulation(
                "articulated bodies",
                "Wendlandt, Algorithms 3.2 and 3.3",
                forward_dynamics.forward_dynamics,
                lambda *state: inverse_dynamics.inverse_dynamics(*state).tau,
                reactions=reactions.reactions,
                response=_articulated_response,
            ),
            Formulation(
                "mass matrix",
                "composite bodies and sparse L^T L",
                _by_mass_matrix,
                _mass_matrix_inverse,
                mass_matrix.mass_matrix,
            ),
            Formulation(
                "spatial operators",
                "Wendlandt (3.21) to (3.35)",
                _by_operators,
                _operators_inverse,
                lambda m, q: factorization(m, q, np.zeros(m.nv)).mass_matrix + rotor_matrix(m),
            ),
            Formulation(
                "newton-euler",
                "Schiehlen (1) to (16)",
                lambda *state: newton_euler.solve(newton_euler.newton_euler(*state))[0],
                _newton_euler_inverse,
                _newton_euler_mass,
                lambda *state: newton_euler.joint_wrenches(newton_euler.newton_euler(*state)),
                _newton_euler_response,
            ),
            Formulation(
                "spacedyn",
                "SpaceDyn (3.8) to (3.39)",
                spacedyn.forward_dynamics,
                lambda *state: spacedyn.inverse_dynamics(*state)[0],
                spacedyn.mass_matrix,
            ),
            Formulation(
                "limbs",
                "Nelson and Quinn (1) to (41)",
                limb_dynamics.forward_dynamics,
                limb_dynamics.inverse_dynamics,
                limb_dynamics.mass_matrix,
                why_not=limb_systems.why_not,
            ),
            Formulation(
                "propagation",
                "Muir and Neuman (1) and (2)",
                lambda *state: propagation.forward_dynamics(*state).a,
                lambda *state: propagation.inverse_dynamics(*state).tau,
                propagation.mass_matrix,
                lambda *state: propagation.forward_dynamics(*state).reactions,
                propagation.response,
                closes_loops=True,
            ),
        )
    }
)
