"""Poses and relative velocities of all pairs of solids at recorded samples of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.model.solids import POINTS
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.solid_separation_bounds import SolidTables, solid_tables, with_world
from linkwork.spatial.scalar import Array
from linkwork.tolerances import TINY


@dataclass(frozen=True, eq=False)
class SolidMotions:
    """Motions of all bodies in s states: those of all batch members at T samples, member by member.

    `times` (T,) are the numbers of the samples. `poses` (s, nbodies + 1, 4, 4) in the world, and `twists`
    (s, nbodies + 1, 6) in body axes, begin with the world. `interval` [s] is the time between two samples. `tables` has
    the data of the n pairs of solids.
    """

    tables: SolidTables
    times: Array
    poses: Array
    twists: Array
    interval: float

    @property
    def samples(self) -> Array:
        """The sample numbers (s,) of the states."""
        return np.tile(self.times, len(self.poses) // len(self.times))

    def where(self, state: int) -> tuple[int, int]:
        """Return the index of the member in the flattened batch, and the sample number, of a state given by index."""
        return state // len(self.times), int(self.times[state % len(self.times)])

    def of_members(self, values: Array) -> Array:
        """Return a copy of `values` (s, n), one for each state and pair, as an array (members, T, n)."""
        return np.array(values).reshape(-1, len(self.times), values.shape[-1])

    @cached_property
    def _placed(self) -> tuple[Array, Array]:
        """Rotations (s, n, 2, 3, 3) and positions (s, n, 2, 3) [m] of the two solids of each pair in the world."""
        return self.tables.place(self.poses)

    @cached_property
    def _velocities(self) -> tuple[Array, Array]:
        """Velocities of the centres (s, n, 2, 3) [m/s] and angular velocities (s, n, 2, 3) [rad/s] of the solids of
        each pair.

        The velocities are in world axes. The spin of a round solid about its axis is omitted, because it does not move
        the surface.
        """
        turn = self.poses[..., :3, :3]
        linear = np.einsum("sbij,sbj->sbi", turn, self.twists[..., :3])[:, self.tables.bodies]
        angular = np.einsum("sbij,sbj->sbi", turn, self.twists[..., 3:])[:, self.tables.bodies]
        R, p = self._placed
        arm = p - self.poses[..., :3, 3][:, self.tables.bodies]
        linear = linear + np.cross(angular, arm)
        axis = R[..., 2]
        spin = (axis * angular).sum(axis=-1, keepdims=True) * axis
        angular = np.where(self.tables.round[..., None], angular - spin, angular)
        return linear, np.where(self.tables.ball[..., None], 0.0, angular)

    @cached_property
    def surface_speeds(self) -> Array:
        """Upper bounds (s, n) [m/s] of the speeds at which the surfaces of the two solids of each pair approach."""
        linear, angular = self._velocities
        turning = (np.linalg.norm(angular, axis=-1) * self.tables.radius).sum(axis=-1)
        return np.nan_to_num(np.linalg.norm(linear[..., 0, :] - linear[..., 1, :], axis=-1) + turning)

    @cached_property
    def _relative(self) -> Array:
        """Velocity (s, n, 3) [m/s] of the smaller solid of each pair at its centre, relative to the larger solid."""
        linear, angular = self._velocities
        _, p = self._placed
        larger = (self.tables.radius[:, 1] >= self.tables.radius[:, 0]).astype(int)
        rows = np.arange(len(larger))
        apart = p[:, rows, 1 - larger] - p[:, rows, larger]
        carried = linear[:, rows, larger] + np.cross(angular[:, rows, larger], apart)
        return np.nan_to_num(linear[:, rows, 1 - larger] - carried)

    @cached_property
    def speeds(self) -> Array:
        """Relative speed (s, n) [m/s] of the solids of each pair, at the centre of the smaller solid."""
        return np.linalg.norm(self._relative, axis=-1)

    @cached_property
    def thickness(self) -> Array:
        """Half of the summed thicknesses (s, n) [m] of the two solids of each pair, along their relative velocity."""
        n = self._relative / np.maximum(self.speeds, TINY)[..., None]
        return self.tables.extents(n, self._placed[0]).sum(axis=-1)

    @cached_property
    def may_meet(self) -> Array:
        """Boolean array (s, n): True if the solids of a pair may meet between the samples before and after a state.

        Two solids may meet if balls that contain them meet on straight paths.
        """
        _, p = self._placed
        apart, u = p[..., 0, :] - p[..., 1, :], self._relative
        larger = self.tables.radius[:, 1] >= self.tables.radius[:, 0]
        u = np.where(larger[:, None], u, -u)
        time = -(apart * u).sum(axis=-1) / np.maximum((u * u).sum(axis=-1), TINY)
        nearest = apart + np.clip(time, -self.interval, self.interval)[..., None] * u
        return np.linalg.norm(nearest, axis=-1) <= self.tables.radius.sum(axis=-1)

    def between(self, state: int, count: int) -> Array:
        """Return `count` poses (count, nbodies + 1, 4, 4) of all bodies in the world, from a state to the next sample.

        `state` is the index of the state. Origins move on straight lines; bodies turn about fixed axes.
        """
        first, last = self.poses[state], self.poses[state + 1]
        part = np.linspace(0.0, 1.0, count)[:, None, None]
        found = np.array(np.broadcast_to(first, (count, *first.shape)))
        found[..., :3, 3] = first[:, :3, 3] + part * (last[:, :3, 3] - first[:, :3, 3])
        turn = np.swapaxes(first[:, :3, :3], -1, -2) @ last[:, :3, :3]
        skew = 0.5 * (turn - np.swapaxes(turn, -1, -2))
        axis = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=-1)
        sine = np.linalg.norm(axis, axis=-1)
        angle = np.arctan2(sine, 0.5 * (np.trace(turn, axis1=-2, axis2=-1) - 1.0))[:, None, None]
        K = skew / np.maximum(sine, TINY)[:, None, None]
        now = part[..., None] * angle
        found[..., :3, :3] = first[:, :3, :3] @ (np.eye(3) + np.sin(now) * K + (1.0 - np.cos(now)) * (K @ K))
        return found

    def touched(self, run: RunData, state: int) -> Array:
        """Return for each of the n pairs whether contact forces acted in the step before the state with this index.

        The result is a boolean array (n,); it is True for all pairs if the `run` did not record "contact.force".
        """
        if "contact.force" not in run.recorded:
            return np.ones(len(self.tables.pairs), dtype=bool)
        member, sample = self.where(state)
        force = run["contact.force"][(*np.unravel_index(member, run.batch), sample)] if run.batch else None
        force = run["contact.force"][sample] if force is None else force
        of_solids = force[len(run.mechanism.contact_pairs) :].reshape(-1, POINTS * 3)
        return np.any(of_solids != 0.0, axis=1)


def solid_motions(run: RunData, samples: Array) -> SolidMotions:
    """Return the motions of the solids of all members of a run at the given samples (T,)."""
    given = dict(run.along_time())
    for name, x in given.items():
        axis = x.ndim - run.mechanism.parameters[name].ndim - 1  # number of the axis of samples
        given[name] = x if x.shape[axis] == 1 else np.take(x, samples, axis=axis)
    q, v = np.take(run.q, samples, axis=-2), np.take(run.v, samples, axis=-2)
    poses = with_world(run.dynamics.poses(q, parameters=given))
    twists = run.dynamics.velocities(q, v, parameters=given)
    twists = np.concatenate([np.zeros_like(twists[..., :1, :]), twists], axis=-2)
    interval = float(np.max(np.diff(run.t[samples]), initial=run.settings.dt or 0.0))
    tables, count = solid_tables(run.mechanism), poses.shape[-3]
    return SolidMotions(tables, samples, poses.reshape(-1, count, 4, 4), twists.reshape(-1, count, 6), interval)
