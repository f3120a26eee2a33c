"""Choice of a solver by the kind of mechanism: tree recursion, articulated bodies with constraint rows, or dense.

The solver depends on two facts. Mimic joints couple joints of different branches, which no recursion over the tree can
represent. Constraints (loops, and clutches and similar elements that may be engaged) add rows and multipliers.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from linkwork.model.mechanism import Mechanism

Function = TypeVar("Function")


class SolverChoice(NamedTuple, Generic[Function]):
    """The functions that compute one quantity, one for each kind of mechanism.

    `tree` is for trees without constraints and `articulated` for trees with constraints. `mimic` is for mechanisms with
    mimic joints and without constraints, and `dense` for those with both.
    """

    tree: Function
    articulated: Function
    mimic: Function
    dense: Function

    @staticmethod
    def by_joints(tree: Function, mimic: Function) -> SolverChoice[Function]:
        """Return a choice that depends on mimic joints only: `mimic` for mechanisms with mimic joints, else `tree`."""
        return SolverChoice(tree, tree, mimic, mimic)

    @staticmethod
    def by_constraints(free: Function, constrained: Function) -> SolverChoice[Function]:
        """Return a choice that depends on constraints only: `constrained` for mechanisms with them, else `free`."""
        return SolverChoice(free, constrained, free, constrained)

    def of(self, mechanism: Mechanism) -> Function:
        """Return the function of this choice that is valid for a mechanism."""
        free, constrained = (self.mimic, self.dense) if mechanism.mimics else (self.tree, self.articulated)
        return constrained if mechanism.constrained else free
