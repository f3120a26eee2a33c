"""What may vary of a mechanism by name, and which values it may have."""

from __future__ import annotations

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.broadcast import refuse_non_finite
from linkwork.spatial.scalar import Array, Number

BODY_PARAMETERS = ("mass", "com", "inertia")
JOINT_PARAMETERS = ("at", "armature", "damping", "stiffness", "friction")
SPRING_PARAMETERS = ("stiffness", "damping", "length")
LOOP_PARAMETERS = ("closed",)
CLUTCH_PARAMETERS = ("engaged", "ratio")
BRAKE_PARAMETERS = ("engaged",)
RATCHET_PARAMETERS = ("engaged", "ratio", "direction")
LATCH_PARAMETERS = ("engaged",)
SWITCHES = (".closed", ".engaged")
CONTACT_PARAMETERS = (
    "stiffness", "damping", "tangential_stiffness", "tangential_damping", "friction", "rest_speed",
    "restitution",
)  # fmt: skip
NOT_NEGATIVE = (
    ".mass", ".armature", ".damping", ".stiffness", ".friction", ".length",
    ".tangential_stiffness", ".tangential_damping", ".rest_speed", ".restitution", ".rotor_inertia",
)  # fmt: skip
NOT_ZERO = (".gear", ".ratio")
POSITIVE = (".efficiency", ".stall_torque", ".no_load_speed")


def as_number(value: Number) -> Array:
    """A number or a truth as an array (); what hides its value stays as it is."""
    return np.asarray(float(value) if isinstance(value, (bool, int)) else value)


def check_parameter(name: str, values: Array) -> None:
    """Raise an error unless all values of a parameter, one or a batch of them, are finite and of a possible sign."""
    refuse_non_finite(f"parameter {name!r}", values)
    if values.dtype != object and name.endswith(NOT_NEGATIVE) and (values < 0.0).any():
        raise ModelError(f"must be >= 0; got {values.min():g}", f"parameter {name!r}")
    if values.dtype != object and name.endswith(".restitution") and (values > 1.0).any():
        raise ModelError(f"must be <= 1; got {values.max():g}", f"parameter {name!r}")
    if values.dtype != object and name.endswith(POSITIVE) and not (values > 0.0).all():
        raise ModelError(f"must be > 0; got {values.min():g}", f"parameter {name!r}")
    if values.dtype != object and name.endswith(NOT_ZERO) and (values == 0.0).any():
        raise ModelError("must not be 0", f"parameter {name!r}")
    if values.dtype != object and name.endswith(".efficiency") and (values > 1.0).any():
        raise ModelError(f"must be at most 1; got {values.max():g}", f"parameter {name!r}")
    if values.dtype != object and name.endswith(SWITCHES) and not np.isin(values, (0.0, 1.0)).all():
        raise ModelError("must be 1, or 0 where nothing is held", f"parameter {name!r}")
    if values.dtype != object and name.endswith(".direction") and not (np.abs(values) == 1.0).all():
        raise ModelError("must be 1 or -1", f"parameter {name!r}")
