"""Compiled kernels of the methods of `Dynamics`: their keys in the cache on disk, and how methods call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import linkwork
from linkwork.compiler import Kernel, digest, shared, text_digest
from linkwork.model.batch_broadcasting import Shape
from linkwork.model.mechanism import Mechanism

# packages whose source code determines what a kernel computes
PACKAGES = ("spatial", "model", "algorithms", "compiler", "evaluation")


@cache
def source_digest() -> str:
    """Return a hash of the source code of linkwork from which kernels are compiled.

    The hash is part of the cache key, so that a change of the source code leads to new kernels.
    """
    package = Path(linkwork.__file__).parent
    return digest(linkwork.__version__, text_digest(*(package / name for name in PACKAGES)))


_digests: WeakKeyDictionary[Mechanism, str] = WeakKeyDictionary()


def mechanism_digest(mechanism: Mechanism) -> str:
    """Return a hash of all names, numbers and joint kinds of a mechanism, for cache keys of its kernels.

    The hash is computed once per mechanism, because mechanisms are immutable.
    """
    found = _digests.get(mechanism)
    if found is None:
        found = _digests[mechanism] = digest(*_described(mechanism))
    return found


def _described(mechanism: Mechanism) -> list[str | bytes]:
    """Return all names, numbers and joint kinds of a mechanism as strings and bytes, for its hash."""
    parts: list[str | bytes] = [mechanism.gravity.tobytes()]
    for body in mechanism.bodies[1:]:
        inertia = body.inertia
        parts += [body.name, repr(float(inertia.mass)), inertia.moment.tobytes(), inertia.rotational.tobytes()]
        for part in body.parts:
            parts += [part.name, repr(float(part.mass)), part.com.tobytes(), part.inertia.tobytes()]
            parts += [part.pose.R.tobytes(), part.pose.p.tobytes()]
    for joint in mechanism.joints:
        parts += [
            joint.name,
            repr(joint.kind),
            f"{joint.i} {joint.o}",
            joint.place.R.tobytes(),
            joint.place.p.tobytes(),
        ]
        parts += [joint.mount.R.tobytes(), joint.mount.p.tobytes(), joint.offset.R.tobytes(), joint.offset.p.tobytes()]
        parts += [joint.armature.tobytes(), joint.damping.tobytes(), joint.stiffness.tobytes(), joint.rest.tobytes()]
        parts += [joint.friction.tobytes()]
    parts += [repr(mimic) for mimic in mechanism.mimics]
    for items in mechanism.elements.values():
        for one in items:
            if not one.acts_in_motion_only:
                parts.append(one.fingerprint)
    for frame in mechanism.frames:
        parts += [frame.name, str(frame.body), frame.pose.R.tobytes(), frame.pose.p.tobytes()]
    return parts


def has_kinds_of_users(mechanism: Mechanism) -> bool:
    """Return whether a mechanism has joint kinds or elements that users defined.

    The hash of the mechanism does not cover the formulas of these classes.
    """
    own = f"{linkwork.__name__}."
    joints = any(not type(joint.kind).__module__.startswith(own) for joint in mechanism.joints)
    return joints or any(one.is_of_users for items in mechanism.elements.values() for one in items)


def kernel_of(
    mechanism: Mechanism, name: tuple[str, ...], one: Callable[..., Any], shapes: Sequence[Shape], result: Shape
) -> Kernel:
    """Return the compiled kernel of the function `one` of one state; equal mechanisms and names share a kernel.

    `name` identifies the function in the cache. The inputs have the shapes `shapes`, and the output has the shape
    `result`, all for one state.
    """
    known = not has_kinds_of_users(mechanism)
    key = digest(source_digest(), mechanism_digest(mechanism), *name) if known else None
    return shared(Kernel(f"{name[0]} of {mechanism.name}", one, shapes, [result], key))


def as_method(kernel: Kernel, method: Callable[..., Any], owner: object) -> Callable[..., Any]:
    """Return a callable that runs `kernel` for inputs of one state, and calls `method(owner, ...)` for all others."""
    return kernel.fast_call(method.__get__(owner), method.__name__, method.__doc__ or "")
