"""Report checks of the momentum of mechanisms that touch the world: gravity and the ground change this momentum.

During the run, the impulses of the contacts with the world, and their moments about the world origin, are added up. The
linear momentum changes by this impulse and the impulse of gravity, the angular momentum about the origin of the world
by the moments of both impulses. The moment of gravity is integrated over time; between two samples, the path of the
centre of mass is taken as a cubic.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.algorithms.solid_contact.pair_tables import half_extents
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.simulation.results.report_rows import Row, checked
from linkwork.simulation.results.report_tolerances import LEAST_MOMENT
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.results.series_extremes import largest_magnitude, relative
from linkwork.simulation.work_ledger import IMPULSE, WORK_ENTRIES
from linkwork.simulation.work_ledger_series import GROUND_IMPULSE
from linkwork.spatial.scalar import Array
from linkwork.tolerances import TINY

CONTACTS, *_ = WORK_ENTRIES
IMPLICIT_DAMPERS = "semi-implicit"  # the method that treats contact dampers implicitly


def touches_world(mechanism: Mechanism) -> bool:
    """Return whether contacts of the mechanism may touch a surface of the world."""
    return any(WORLD in bodies for _, *bodies in mechanism.contact_bodies)


def why_not_with_ground(run: RunData) -> str:
    """Return the reason why the impulse of the ground is unknown; an empty text if it is known, or if nothing can touch
    the world.
    """
    if not touches_world(run.mechanism):
        return ""
    label = next(label for label, *bodies in run.mechanism.contact_bodies if WORLD in bodies)
    may = f"{label} may touch the world"
    if CONTACTS not in run.facts.ledger_entries:
        return f"{may}, and the run does not accumulate the impulse of the ground"
    if run.method == IMPLICIT_DAMPERS:
        return (
            f"{may}, and with {run.method!r} the impulse of contact dampers, which act implicitly, is not accumulated"
        )
    return ""


def momenta_with_ground(run: RunData, weight: Array, scales: tuple[Array, Array]) -> Iterator[Row]:
    """Yield the report rows for linear and angular momentum of a mechanism that touches the world.

    `weight` (..., 3) [N] is the weight of each batch member, and `scales` are the sizes of linear and angular momentum
    (*batch,), to which errors are relative.
    """
    momentum, centre = run.momentum, run["center_of_mass"]
    ground = _ground(run)
    p, time = momentum[..., :3], run.t - run.t[0]
    about_origin = momentum[..., 3:] + np.cross(centre, p)
    gravity = weight[..., None, :] * time[:, None]
    mass = np.maximum(np.asarray(run.mechanism.mass), TINY)
    turned = np.cross(_integral(run.t, centre, p / mass), weight[..., None, :])
    names = ("momentum", "angular momentum")
    found = (p - p[..., :1, :] - gravity - ground[..., :3], about_origin - about_origin[..., :1, :] - turned)
    lever = largest_magnitude(np.linalg.norm(centre, axis=-1))
    reach = max(_reaches(run.mechanism))
    least = LEAST_MOMENT * (lever + reach) * largest_magnitude(np.linalg.norm(ground[..., :3], axis=-1))
    sizes = scales[0], np.maximum(scales[1] + lever * scales[0], least)
    notes = "that gravity and ground do not cause", "about the origin that gravity and ground do not cause"
    for k, (name, drift, size, note) in enumerate(zip(names, found, sizes, notes, strict=True)):
        if k == 1 and run.settings.every > 1:
            reason = "only some steps were recorded, so that the moment of gravity is not accurate; use every=1"
            yield Row(name, "unknown", note=f"not checked: {reason}", not_checked=reason)
            return
        drift = drift - (ground[..., 3:] if k == 1 else 0.0)
        pushed = largest_magnitude(np.linalg.norm(ground[..., 3 * k : 3 * k + 3], axis=-1))
        error = relative(largest_magnitude(np.linalg.norm(drift, axis=-1)), np.maximum(size, pushed))
        yield checked(run, name, error, f"largest change {note}, relative to momentum and impulse")


def _reaches(mechanism: Mechanism) -> Iterator[float]:
    """Yield, for each contact pair and pair of solids, about the largest distance [m] of its contact points from the
    body origin.
    """
    for contact, _ in mechanism.contact_pairs:
        yield float(np.linalg.norm(contact.at.pose.p)) + contact.radius
    for pair in mechanism.solid_pairs:
        yield float(np.linalg.norm(pair.first.pose.p)) + max(half_extents(pair.first.shape))


def _ground(run: RunData) -> Array:
    """Return the linear and angular impulse (*batch, T, 6) [N s, N m s] of the ground on the mechanism since the start
    of the run, about the world origin.

    If this impulse was not recorded, it is known only at the start and at the end of members that finished; other
    samples are nan.
    """
    if GROUND_IMPULSE in run.recorded:
        return run[GROUND_IMPULSE] - run[GROUND_IMPULSE][..., :1, :]
    found = np.full((*run.batch, len(run.t), 6), np.nan)
    found[..., 0, :] = 0.0
    finished = np.array([one.kind == "finished" for one in run.outcomes.flat]).reshape(*run.batch, 1)
    found[..., -1, :] = np.where(finished, np.asarray(run.final.motion.ledger)[..., IMPULSE], np.nan)
    return found


def _integral(t: Array, x: Array, rate: Array) -> Array:
    """Return the integral (..., T, 3) over time of x (..., T, 3), from its values and its time derivatives `rate`.

    Between two of the times t (T,) [s], x is a cubic.
    """
    h = np.diff(t)[:, None]
    mean = (x[..., 1:, :] + x[..., :-1, :]) * 0.5 + (rate[..., :-1, :] - rate[..., 1:, :]) * (h / 12.0)
    return np.concatenate([np.zeros_like(x[..., :1, :]), np.cumsum(mean * h, axis=-2)], axis=-2)
