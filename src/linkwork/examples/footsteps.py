"""What a walk was like: how far feet slip while they stand, and what motors give."""

from __future__ import annotations

import numpy as np

from linkwork.simulation import Run
from linkwork.spatial.scalar import Array

BRIEF = 5  # rows; feet that touch for fewer do not stand


def slips(run: Run, since: float = 0.0) -> Array:
    """How far [m] a foot got at most from where it was put down, in each of its stands (stands,) from `since` [s] on.

    It is measured along the world's x and y, and springs of contacts count; rows of the run should be close.
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
    """Mean power [W] that each motor gives (motors,), from `since` [s] on; while it brakes it gives nothing.

    Motors are the drives, or else all joints.
    """
    m, late = run.mechanism, run.t >= since
    rows = np.array([drive.row for drive in m.drives] or np.eye(m.nv))
    forces = np.linalg.lstsq(rows.T, run.tau[late].T, rcond=None)[0]
    return np.maximum(forces * (rows @ run.v[late].T), 0.0).mean(axis=1)


def cost_of_transport(run: Run, since: float = 0.0) -> float:
    """What motors give for each metre and each newton of weight, from `since` [s] on."""
    late = np.flatnonzero(run.t >= since)
    way = np.linalg.norm(np.diff(run.q[late, :2], axis=0), axis=1).sum()
    weight = run.mechanism.mass * np.linalg.norm(run.mechanism.gravity)
    return float(motor_power(run, since).sum() * np.ptp(run.t[late]) / (weight * way))
