"""The state in which a run starts, at time 0 s: coordinates, velocities, and all contacts apart from their surfaces."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwork.algorithms.compliant_contact import APART
from linkwork.algorithms.rigid_contact import contact_memory_size
from linkwork.algorithms.solid_contact.solid_contact_forces import stored_columns
from linkwork.model.batch_broadcasting import Shape
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS
from linkwork.simulation.joint_friction_rows import friction_count, ledger_places
from linkwork.simulation.state import (
    CONTACT_COLUMNS,
    LOG_COLUMNS,
    EventLog,
    MemberState,
    SolverState,
    StepState,
)
from linkwork.simulation.work_ledger import SIZE, ledger_entries
from linkwork.spatial.scalar import Array


def state_at_start(
    m: Mechanism, values: Mapping[str, Array], parameters: Mapping[str, Array], batch: Shape, rigid: bool
) -> MemberState:
    """Return the state of all batch members at time 0 s, in arrays (*batch, ...), with all contacts apart.

    `values` has three checked arrays by name: "q0", "v0" and "memory", the initial memory of the controller.
    `parameters` are the values of varied parameters by name, and `rigid` is true if contacts are rigid.
    """

    def all_of(name: str) -> Array:
        array = values[name]
        return np.array(np.broadcast_to(array, batch + array.shape[-1:]))

    zeros, none = np.zeros(batch), np.zeros((*batch, 0))
    motion = StepState(
        all_of("q0"),
        all_of("v0"),
        zeros,
        contact_memory=_memory_of_separated_contacts(m, batch, rigid),
        slip=np.zeros((*batch, len(m.bounded) + friction_count(m))),
        modes=none,
        armed=none,
        log=EventLog(np.zeros((*batch, 0, LOG_COLUMNS)), zeros),
        solver=SolverState(zeros, zeros, zeros),
        watched=none,
        ledger=np.zeros((*batch, SIZE + ledger_places(m) if ledger_entries(m, parameters) else 0)),
        solid_memory=_memory(batch, POINTS * len(m.solid_pairs), stored_columns(m.collisions)),
    )
    return MemberState(zeros, zeros, motion, np.zeros((*batch, m.nv)), all_of("memory"), zeros)


def _memory_of_separated_contacts(m: Mechanism, batch: Shape, rigid: bool) -> Array:
    """Return the contact memory (*batch, n, columns) at the start of a run, with all n contact pairs apart.

    If contacts are `rigid` and have rolling or spinning friction, there are three more columns, for the torque.
    """
    size = contact_memory_size(m.contact_pairs) if rigid else CONTACT_COLUMNS
    return _memory(batch, len(m.contact_pairs), size)


def _memory(batch: Shape, count: int, size: int) -> Array:
    """Return the contact memory (*batch, count, size) of `count` contacts that are apart, with `size` columns."""
    found = np.zeros((*batch, count, size))
    found[..., 0] = APART
    return found
