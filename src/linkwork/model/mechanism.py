"""The class Mechanism: an immutable tree of bodies, joints and frames with elements, coordinates and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import unknown_name, visible
from linkwork.model.batch_broadcasting import Input, of_size, over_batch
from linkwork.model.bodies import Body, Frame
from linkwork.model.elements.constraint import Constraint, FrameConstraint
from linkwork.model.elements.element import Element, kinds
from linkwork.model.keyframes import NO_KEYFRAMES, Keyframe
from linkwork.model.mechanism_elements import ElementViews
from linkwork.model.mechanism_joint import Joint
from linkwork.model.mechanism_method_registry import call_implementation
from linkwork.model.mechanism_parameters import ParameterViews
from linkwork.model.mimic_joints import Mimic, numbered
from linkwork.model.named_collections import Named, Sections
from linkwork.model.read_only_arrays import freeze
from linkwork.model.topology import Topology, topology, tree_text
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.analysis_results import Independent, LoopCheck, Symmetry

__all__ = ["WORLD", "Joint", "Mechanism", "numbered"]
WORLD = 0  # the world's body number


@dataclass(frozen=True, eq=False)
class Mechanism(ElementViews, ParameterViews):
    """An immutable mechanism: a tree of bodies and joints, with elements attached to it.

    `Builder.build`, `lw.load` and `lw.example` return one. Body 0 is the world; body k + 1 is the child of joint k.
    Each section of `elements` is also an attribute: `m.loops`, `m.clutches`. A mechanism never changes; methods such as
    `with_parameters` return a new one.

    Parameters
    ----------
    name : str
        Name of the mechanism.
    gravity : ndarray, shape (3,), [m/s^2]
        Gravitational acceleration in world axes.
    bodies, joints, frames : Named
        Sequences that are indexed by number or name.
    keyframes : Named
        Named states, each with `q` (nq,) and `v` (nv,).
    elements : Sections
        Elements by section, such as "loops" or "clutches".
    friction_velocities : tuple of int
        Indices in v of the velocities with dry friction, which stick or slip in a run; set by `simulate`.

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> m.nq, m.nv, m.joints.names
    (2, 2, ('pin 1', 'pin 2'))
    >>> m.bodies["link 2"].mass
    3.5

    """

    name: str
    gravity: Array
    bodies: Named[Body]
    joints: Named[Joint]
    frames: Named[Frame]
    keyframes: Named[Keyframe] = NO_KEYFRAMES
    elements: Sections = field(default_factory=lambda: Sections({}))
    # Indices in v of the velocities with dry friction, which stick or slip in a run; set by `simulate`
    friction_velocities: tuple[int, ...] = ()

    def __getattr__(self, name: str) -> Named[Any]:
        """Return the collection of all elements of the section `name`: `m.clutches` are all clutches of m."""
        if name.startswith("_") or name not in kinds():
            known = ", ".join(kinds())
            raise AttributeError(f"a Mechanism has no attribute {name!r}; its sections of elements are: {known}")
        there = self.__dict__["elements"]
        found = self.__dict__[name] = there[name] if name in there else Named(kinds()[name].what, [])
        return found

    def with_elements(self, section: str, items: Iterable[Element]) -> Mechanism:
        """Return the mechanism with the elements of one section, such as "loops", replaced by `items`."""
        if section not in kinds():
            raise unknown_name("section", section, kinds())
        new = Named(kinds()[section].what, list(items))
        return replace(self, elements=Sections({**self.elements, section: new}))

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        freeze(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Mechanism:
        return self  # a mechanism is immutable

    # --- sizes ---

    @cached_property
    def leaders(self) -> tuple[Joint, ...]:
        """The independent joints: all joints except mimic joints."""
        return tuple(joint for joint in self.joints if joint.mimic is None)

    @cached_property
    def nq(self) -> int:
        """Number of coordinates in q: those of all joints except mimic joints.

        A quaternion counts 4. Loops remove no coordinates.
        """
        return sum(joint.kind.nq for joint in self.leaders)

    @cached_property
    def nv(self) -> int:
        """Number of velocities in v: those of all joints except mimic joints. Constraints remove no velocities."""
        return sum(joint.kind.nv for joint in self.leaders)

    @property
    def nbodies(self) -> int:
        """Number of bodies, without the world."""
        return len(self.bodies) - 1

    # --- elements ---

    @property
    def closed(self) -> Mechanism:
        """A copy of the mechanism in which all loops are closed, including the loops that are now open."""
        changed = self._with_each(lambda one: one.closed_now() if isinstance(one, FrameConstraint) else one)
        return replace(self, elements=changed)

    def keeping(self, keep: Callable[[Constraint], bool]) -> Mechanism:
        """Return a copy of the mechanism without the constraints (loops, clutches, ...) for which `keep` is False."""
        sections = dict.fromkeys(one.section for one in self.constraints)
        left = {
            section: self.elements[section].replaced([one for one in self.elements[section] if keep(one)])
            for section in sections
        }
        return replace(self, elements=Sections({**self.elements, **left}))

    @cached_property
    def mass(self) -> Number:
        """Total mass [kg] of all bodies, without parts that are welded to the world."""
        return sum(body.mass for body in self.bodies[1:])

    @cached_property
    def armature(self) -> Array:
        """The armature (nv,) [kg m^2 or kg] of each velocity, which adds to the diagonal of the mass matrix.

        It is the armature of the joint, plus that of each drive's rotor that turns with this velocity alone.
        """
        own = self.by_joint(lambda j: j.armature)
        for rotor in self._all_rotors:
            if rotor.alone:
                own = own + rotor.inertia * (rotor.row * rotor.row)
        return own

    @cached_property
    def topology(self) -> Topology:
        """The tree as integer arrays of the SpaceDyn paper (section 3.1): parents B, incidence matrices S, S0 and Se.

        The world is link 0, and body k is link k.
        """
        return topology([joint.i for joint in self.joints])

    # --- coordinates ---

    def neutral(self) -> Array:
        """Return the neutral position, in which every child's frame coincides with its joint frame.

        Returns
        -------
        ndarray, shape (nq,), [rad or m, or quaternions]
            Coordinates.

        Examples
        --------
        >>> lw.example("double_pendulum").neutral().tolist()
        [0.0, 0.0]

        """
        return self.by_joint(lambda j: j.kind.neutral())

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """Return one random position within the joint limits.

        Without limits, angles are in [-pi, pi], distances in [-1, 1] m, and rotations are uniformly distributed. With
        only one finite limit, angles are within one turn of it, and distances within 2 m.

        For a batch (n, nq), stack several: `np.stack([m.random(seed) for seed in range(n)])`.

        Parameters
        ----------
        rng : numpy.random.Generator, int or None, default None
            Generator, or seed of a new generator. None gives a different position in every call.

        Returns
        -------
        ndarray, shape (nq,), [rad or m, or quaternions]
            Coordinates. Loops are generally not closed at this position.

        Examples
        --------
        >>> lw.example("double_pendulum").random(0).shape
        (2,)

        """
        generator = np.random.default_rng(rng)
        return self.by_joint(lambda j: j.random(generator))

    def integrate(self, q: Any, dv: Any) -> Array:
        """Return the position q displaced by dv: reached from q with the constant velocity dv in unit time.

        The result is q + dv for joints without quaternions. Quaternions keep unit norm, and a free joint follows a
        screw motion.

        Parameters
        ----------
        q : array_like, shape (..., nq), [rad or m, or quaternions]
            Start position.
        dv : array_like, shape (..., nv), [rad or m]
            Velocity times one unit of time.

        Returns
        -------
        ndarray, shape (..., nq)
            Position reached.

        Examples
        --------
        >>> lw.example("double_pendulum").integrate([0.0, 0.5], [0.25, 0.0]).tolist()
        [0.25, 0.5]

        """
        inputs = {"q": Input(q, (self.nq,)), "dv": Input(dv, (self.nv,))}
        return over_batch(lambda q, dv: self.by_joint(lambda j: j.kind.integrate(q[j.q], dv[j.v])), inputs, (self.nq,))

    def difference(self, q0: Any, q1: Any) -> Array:
        """Return the displacement from q0 to q1 in the tangent space: the inverse of `integrate`.

        The result is q1 - q0 for joints without quaternions, and the constant velocity that leads from q0 to q1 in unit
        time for all joints.

        Parameters
        ----------
        q0 : array_like, shape (..., nq), [rad or m, or quaternions]
            Start position.
        q1 : array_like, shape (..., nq), [rad or m, or quaternions]
            End position.

        Returns
        -------
        ndarray, shape (..., nv), [rad or m]
            Velocity times one unit of time.

        Examples
        --------
        >>> lw.example("double_pendulum").difference([0.0, 0.5], [0.25, 0.5]).tolist()
        [0.25, 0.0]

        """
        inputs = {"q0": Input(q0, (self.nq,)), "q1": Input(q1, (self.nq,))}
        return over_batch(
            lambda q0, q1: self.by_joint(lambda j: j.kind.difference(q0[j.q], q1[j.q])), inputs, (self.nv,)
        )

    def qdot(self, q: Any, v: Any) -> Array:
        """Return the time derivative of the coordinates at position q and velocity v (Wendlandt, equation 3.34).

        Parameters
        ----------
        q : array_like, shape (..., nq), [rad or m, or quaternions]
            Position.
        v : array_like, shape (..., nv), [rad/s or m/s]
            Velocity.

        Returns
        -------
        ndarray, shape (..., nq)
            dq/dt; it equals v for joints without quaternions.

        Examples
        --------
        >>> lw.example("double_pendulum").qdot([0.0, 0.5], [1.0, 2.0]).tolist()
        [1.0, 2.0]

        """
        inputs = {"q": Input(q, (self.nq,)), "v": Input(v, (self.nv,))}
        return over_batch(lambda q, v: self.by_joint(lambda j: j.kind.qdot(q[j.q], v[j.v])), inputs, (self.nq,))

    def by_joint(self, function: Callable[[Joint], Array]) -> Array:
        """Return the arrays that `function` returns for the independent joints, concatenated in joint order."""
        return np.concatenate([np.zeros(0), *(function(joint) for joint in self.leaders)])

    # --- mobility and symmetries ---

    def check_loops(self, q: Any) -> LoopCheck:
        """Return the mobility, redundant constraint rows and singular directions of a mechanism at one position.

        Parameters
        ----------
        q : array_like, shape (nq,), [rad or m, or quaternions]
            Position at which all loops are closed.

        Returns
        -------
        LoopCheck
            `mobility` (int): number of independent velocities. `nc` (int): number of constraint rows of all closed
            loops and engaged velocity constraints. `rank` (int): number of independent rows among these. `redundant`:
            {loop: number of its redundant rows}. `repeating`: the same for engaged clutches, brakes and other velocity
            constraints. `free` (mobility, nv): orthonormal velocities that satisfy all constraints. `singular` (k, nv):
            those directions of `free` that exist at this position only.

        Examples
        --------
        >>> m = lw.example("four_bar")
        >>> m.check_loops(m.keyframes["start"].q).mobility
        1

        """
        return call_implementation("check_loops", self, q)

    def independent(self, q: Any, v: Any = None, choose: str | Iterable[str] | None = None) -> Independent:
        """Return independent velocities of a mechanism with constraints, and the map from them to all velocities.

        Parameters
        ----------
        q : array_like, shape (nq,), [rad or m, or quaternions]
            Position at which all loops are closed.
        v : array_like, shape (nv,), [rad/s or m/s], default zero
            Velocity at which `bias` is computed.
        choose : str or sequence of str, optional
            Joints whose velocities are the independent ones; by default a well-conditioned choice is made.

        Returns
        -------
        Independent
            `numbers` (k,): indices in v of the k independent velocities z. `joints`: names of the joints of z.
            `map` (nv, k) and `bias` (nv,): v = map z and a = map dz/dt + bias. `condition`: condition number of the
            choice, 1 at best.

        Examples
        --------
        >>> m = lw.example("four_bar")
        >>> m.independent(m.keyframes["start"].q, choose="crank pin").map.shape
        (3, 1)

        """
        return call_implementation("independent", self, q, v, choose)

    def symmetries(self) -> tuple[Symmetry, ...]:
        """Return the rigid motions of the whole mechanism that leave its dynamics unchanged (Noether symmetries).

        Each symmetry belongs to a conserved momentum; `Dynamics.momentum_maps` computes these momenta.

        Returns
        -------
        tuple of Symmetry
            Each has the name of its `momentum`; a `twist` (6,), linear before angular, about the world's origin in
            world axes; and a point `through` (3,) [m] of its axis.

        Examples
        --------
        >>> [symmetry.momentum for symmetry in lw.example("heavy_top").symmetries()]
        ['angular momentum about z']

        """
        return call_implementation("symmetries", self)

    # --- mimic joints ---

    @cached_property
    def mimics(self) -> Named[Mimic]:
        """The mimic relations, by the name of the mimic joint."""
        return Named("mimic", [joint.mimic for joint in self.joints if joint.mimic is not None])

    @cached_property
    def tree(self) -> Mechanism:
        """The mechanism with all mimic joints made independent; the same object if it has no mimic joints."""
        if not self.mimics:
            return self
        joints = numbered(self.joints)
        keyframes = [
            replace(keyframe, q=self.tree_position(keyframe.q), v=self.tree_velocity(keyframe.v))
            for keyframe in self.keyframes
        ]
        return replace(
            self,
            joints=joints,
            keyframes=self.keyframes.replaced(keyframes),
            elements=self._with_each(lambda one: one.numbered(joints)),
        )

    def _with_each(self, change: Callable[[Element], Element]) -> Sections:
        """Return the elements by section, with `change` applied to each; an unchanged section stays the same object."""
        return Sections({section: items.changed(change) for section, items in self.elements.items()})

    def tree_position(self, q: Any) -> Array:
        """Return the coordinates of all joints, mimic joints included.

        Parameters
        ----------
        q : array_like, shape (..., nq), [rad or m, or quaternions]
            Independent coordinates.

        Returns
        -------
        ndarray, shape (..., tree.nq)
            Coordinates of all joints, as the mechanism `m.tree` without mimic relations takes them.

        Examples
        --------
        >>> lw.example("double_pendulum").tree_position([0.1, 0.2]).tolist()
        [0.1, 0.2]

        """
        q = of_size("q", q, self.nq)
        parts = [q[..., j.q] if j.mimic is None else j.mimic.position(q[..., j.q]) for j in self.joints]
        return np.concatenate([q[..., :0], *parts], axis=-1)

    def tree_velocity(self, v: Any) -> Array:
        """Return the velocities or accelerations of all joints, from the values of the independent joints.

        A mimic joint has `multiplier` times the velocity of the joint that it mimics.

        Parameters
        ----------
        v : array_like, shape (..., nv), [rad/s or m/s]
            Velocities or accelerations of the independent joints.

        Returns
        -------
        ndarray, shape (..., tree.nv)
            Velocities or accelerations of all joints, in the order of `m.tree`, the mechanism without mimic relations.

        Examples
        --------
        >>> lw.example("double_pendulum").tree_velocity([1.0, 2.0]).tolist()
        [1.0, 2.0]

        """
        v = of_size("v", v, self.nv)
        parts = [v[..., j.v] if j.mimic is None else v[..., j.v] * j.mimic.multiplier for j in self.joints]
        return np.concatenate([v[..., :0], *parts], axis=-1)

    @cached_property
    def spread(self) -> Array:
        """The mimic matrix G (tree.nv, nv): G v are the velocities of all joints, mimic joints included."""
        return self.tree_velocity(np.eye(self.nv)).T

    # --- text ---

    def __repr__(self) -> str:
        return (
            f"<Mechanism {self.name!r}: {self.nbodies} bodies, {len(self.joints)} joints, nq={self.nq}, nv={self.nv}>"
        )

    def __str__(self) -> str:
        labels = [self.bodies[WORLD].name]
        for joint in self.joints:
            welded = [part.name for part in self.bodies[joint.o].parts[1:]]
            labels.append(
                f"{joint.child}  [{joint.name}: {type(joint.kind).__name__}, {self.bodies[joint.o].mass:g} kg"
                + ("" if joint.mimic is None else f", mimics {joint.mimic.of}")
                + (f", with {', '.join(welded)}]" if welded else "]")
            )
        rows = f" of the tree, {self.nh} constraint rows" if self.nh else ""
        title = f"{self.name}: {self.nv} degrees of freedom{rows}, {self.mass:g} kg"
        lines = [title, tree_text(labels, self.topology.B.tolist()), *(one.label for one in self.constraints)]
        return visible("\n".join(lines))
