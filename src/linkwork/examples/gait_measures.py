"""Measures of a simulated walk: slip of the feet in stance, power of the motors, cost of transport."""

from __future__ import annotations

import numpy as np

from linkwork.simulation import Run
from linkwork.spatial.scalar import Array

BRIEF = 5  # number of samples; shorter contacts do not count as stance


def slips(run: Run, since: float = 0.0) -> Array:
    """Return, for each stance phase after `since` [s], the largest distance [m] of the foot from its touchdown point.

    The result has shape (phases,). A stance phase that began before `since` counts from `since` on; phases of less than
    BRIEF samples do not count. Distances are in the world's x, y plane and include the deflection of compliant
    contacts. The samples of the run must be dense enough to resolve the motion of the feet.
    """
    found, poses = [], run.dynamics.poses(run.q)
    for place, pair in enumerate(run.mechanism.contact_pairs):
        at = pair.contact.at
        pose = poses[:, at.body - 1]
        foot = pose[:, :2, :3] @ at.pose.p + pose[:, :2, 3]
        down = (run["contact.state"][:, place] > 1.0) & (run.t >= since)
        edges = np.flatnonzero(np.diff(down, prepend=False, append=False))
        for first, end in edges.reshape(-1, 2):
            if end - first >= BRIEF:
                found.append(np.linalg.norm(foot[first:end] - foot[first], axis=1).max())
    return np.array(found)


def motor_power(run: Run, since: float = 0.0) -> Array:
    """Return the mean positive power [W] of each motor (motors,) after `since` [s]; braking power counts as zero.

    The mean is over all samples after `since`. The motors are the drives; in a mechanism without drives, all joint
    velocities count as motors.
    """
    m, late = run.mechanism, run.t >= since
    rows = np.array([drive.row for drive in m.drives] or np.eye(m.nv))
    forces = np.linalg.lstsq(rows.T, run.tau[late].T, rcond=None)[0]
    return np.maximum(forces * (rows @ run.v[late].T), 0.0).mean(axis=1)


def cost_of_transport(run: Run, since: float = 0.0) -> float:
    """Return the cost of transport after `since` [s]: motor energy divided by weight and path length, dimensionless."""
    late = np.flatnonzero(run.t >= since)
    distance = np.linalg.norm(np.diff(run.q[late, :2], axis=0), axis=1).sum()
    weight = run.mechanism.mass * np.linalg.norm(run.mechanism.gravity)
    return float(motor_power(run, since).sum() * np.ptp(run.t[late]) / (weight * distance))
