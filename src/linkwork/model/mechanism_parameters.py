"""The parameters of a mechanism: their names and values, and copies of the mechanism with new values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from linkwork.errors import NameNotFound, unknown_name
from linkwork.model.elements.contradicting_couplings import contradictions
from linkwork.model.elements.element import Element
from linkwork.model.friction.friction_law import FrictionLaw
from linkwork.model.model_definition_faults import raise_first
from linkwork.model.parameter_substitution import varied
from linkwork.model.parameter_value_checks import BODY_PARAMETERS, FINITE, JOINT_PARAMETERS, check_values, is_traced
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.bodies import Body
    from linkwork.model.mechanism import Mechanism
    from linkwork.model.mechanism_joint import Joint
    from linkwork.model.named_collections import Named


class ParameterViews:
    """Mixin of Mechanism with the properties and methods that concern its parameters."""

    if TYPE_CHECKING:  # defined as fields and properties of Mechanism
        gravity: Array
        bodies: Named[Body]
        joints: Named[Joint]

        @property
        def all_elements(self) -> Iterator[Element]:
            """All elements of the mechanism."""
            ...

    @cached_property
    def _owners(self) -> dict[str, tuple[Element, str]]:
        """The elements' parameters: a dict from parameter name to (element, key of the parameter in this element).

        The name is 'name.key', or 'section.name.key' if a joint or an earlier element has the same name and key.
        """
        taken = {f"{joint.name}.{key}" for joint in self.joints for key in JOINT_PARAMETERS}
        found: dict[str, tuple[Element, str]] = {}
        for one in self.all_elements:
            for key in one.parameters:
                short = f"{one.name}.{key}"
                found[f"{one.section}.{short}" if short in taken or short in found else short] = one, key
        return found

    @cached_property
    def parameters(self) -> dict[str, Array]:
        """All parameters that can vary, with their values, by name: 'arm.mass', 'elbow.damping', 'gravity', ..."""
        found: dict[str, Array] = {"gravity": self.gravity}
        for body in self.bodies[1:]:
            for part in body.parts:
                found |= {f"{part.name}.{key}": np.asarray(getattr(part, key)) for key in BODY_PARAMETERS}
        for joint in self.joints:
            values = (joint.offset.p, joint.armature, joint.damping, joint.stiffness, joint.friction)
            found |= {f"{joint.name}.{key}": value for key, value in zip(JOINT_PARAMETERS, values, strict=True)}
        return found | {name: one.parameters[key] for name, (one, key) in self._owners.items()}

    @cached_property
    def modes(self) -> tuple[str, ...]:
        """The names of all modes: parameters that can be switched during a run."""
        return tuple(name for name, (one, key) in self._owners.items() if key in one.modes())

    def possible_mode(self, name: str, value: Number) -> Number:
        """Return `value`, which a controller commands for the mode `name`, rounded to a value that its element accepts.

        For example, the gear of a transmission is rounded down to a whole number. Raise NameNotFound unless `name` is
        in `modes`.
        """
        if name not in self.modes:
            raise unknown_name("mode", name, self.modes)
        element, key = self._owners[name]
        return element.possible(key, value)

    def unknown_parameter(self, name: str) -> NameNotFound:
        """Return the error for an unknown parameter name, which lists similar valid names."""
        owner, _, key = str(name).rpartition(".")
        same = [one for one in self.all_elements if one.name == owner]
        known = [one for one in same if key in one.definitions()]
        fixed = [one for one in known if one.definitions()[key].parameter]
        parts = [part for one in same for part in vars(one).values() if isinstance(part, FrictionLaw)]
        without = any(hasattr(part, key) for part in parts)
        hint = ""
        if without:
            hint = f" The friction law of {owner!r} was built without {key}: give {key} in its friction law."
        elif fixed:
            hint = f" The {key} of {fixed[0].label} is infinite and cannot vary; build it with a finite value."
        elif known:
            hint = f" The {key} of {known[0].label} cannot vary; build a mechanism for each value."
        return unknown_name("parameter", name, self.parameters, hint, similar=not (known or without))

    def check_parameter(self, name: str, values: Array) -> None:
        """Raise an error unless all `values` of the parameter `name` are valid.

        `values` is one value or a batch.
        """
        if name in self._owners:
            one, key = self._owners[name]
            one.check_parameter(key, values, name)
        else:
            rules = {**BODY_PARAMETERS, **JOINT_PARAMETERS}
            check_values(name, values, rules.get(name.rpartition(".")[2], FINITE))

    def with_parameters(self, values: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism with new values of some parameters, checked as by the Builder.

        Parameters
        ----------
        values : dict of str to array_like
            New values by parameter name; the names, shapes and current values are in `m.parameters`.

        Returns
        -------
        Mechanism
            The new mechanism.

        Raises
        ------
        ModelError
            If a name is unknown or a value is invalid.
        ShapeError
            If a value has the wrong shape.

        Examples
        --------
        >>> m = lw.example("double_pendulum").with_parameters({"link 2.mass": 5.0})
        >>> float(m.parameters["link 2.mass"])
        5.0

        """
        found = self.varied(values)
        if not any(is_traced(value) for value in found.parameters.values()):
            raise_first(contradictions(found))
        return found

    def varied(self, values: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism with new parameter values, without a check for contradicting constraints.

        A run may switch between velocity constraints that would contradict each other if all were engaged.
        """
        return varied(cast("Mechanism", self), values, self._owners, self._traced_parameters)

    @cached_property
    def _traced_parameters(self) -> frozenset[str]:
        """The names of the mechanism's parameters whose values are traced numbers."""
        return frozenset(name for name, value in self.parameters.items() if is_traced(value))
