"""Evaluation of a dynamics algorithm on a batch of states: input checks, compiled kernels, and the NumPy reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms import jacobians
from linkwork.algorithms.mimic_reduction import for_mimic_joints
from linkwork.compiler.compiler_thread_lock import BUILDING
from linkwork.errors import unknown_name
from linkwork.evaluation.floating_point_failures import explain_non_finite, unwatched, watched
from linkwork.model.batch_broadcasting import Input, Shape, checked, members, over_batch, require_out
from linkwork.model.mechanism import Mechanism
from linkwork.model.physical_validity import require_inertia
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.compiler import Kernel

Parameters = Mapping[str, Any] | None
Out = Array | None
PLAIN = {"q", "v", "a", "tau"}  # only methods without other array arguments can be replaced by their kernels
SEVERAL = {
    "energy",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
}  # methods that split one array into several results; a kernel cannot replace them
# methods that invert the mass matrix
SOLVING = {"forward_dynamics", "forward_dynamics_derivatives", "carried", "reactions"}


class BatchEvaluation:
    """Base class of `Dynamics`: stores a mechanism and the settings of `compile`, and evaluates batches of states."""

    def __init__(self, mechanism: Mechanism, varying: tuple[str, ...], target: str, threads: int | None, check: bool):
        self.mechanism, self.varying, self.target = mechanism, varying, target
        self.threads, self.check = threads, check
        self._kernels: dict[tuple[str, ...], Kernel] = {}
        self._has_inertia = False  # whether the check for joints without inertia has been made

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and its arguments, from which copies and pickles are made, without machine code.

        A copy compiles its machine code, or loads it from the cache, at its first call.
        """
        return type(self), (self.mechanism, self.varying, self.target, self.threads, self.check)

    def __repr__(self) -> str:
        return f"<Dynamics of {self.mechanism!r}, target {self.target!r}>"

    def _state(self, q: Any, v: Any = None, wrenches: Any = None, **accelerations_or_forces: Any) -> dict[str, Input]:
        """Return the arguments of a call as a dict of inputs in the order of the algorithms: q, v, a or tau, wrenches.

        The keyword argument is `a` or `tau`. If v or `wrenches` is None, the dict does not contain it.
        """
        m = self.mechanism
        inputs = {"q": Input(q, (m.nq,))}
        if v is not None:
            inputs["v"] = Input(v, (m.nv,))
        inputs |= {name: Input(value, (m.nv,)) for name, value in accelerations_or_forces.items()}
        if wrenches is not None:
            inputs["wrenches"] = Input(wrenches, (m.nbodies, 6))
        return inputs

    def _evaluate(
        self,
        quantity: str,
        algorithm: Callable[..., Array],
        inputs: dict[str, Input],
        result: Shape,
        parameters: Parameters,
        out: Out,
        *fixed: str,
    ) -> Array:
        """Return the results of `algorithm` for every state of a batch, as an array (..., *result).

        `algorithm(mechanism, *arrays)` takes one state, and returns an array of the shape `result`. `inputs` are the
        arrays of the call by name, and `parameters` the values of varying parameters by name. `out`, if given, receives
        the results. `quantity` is the name of the method. `fixed` are its arguments that are not arrays, such as the
        name of a frame; each value of them has a separate kernel.
        """
        if quantity in SOLVING and not self._has_inertia:
            require_inertia(self.mechanism, self.varying)
            self._has_inertia = True
        given = dict(parameters or {})
        for name in given:
            if name not in self.varying:
                hint = " Name it in compile(..., parameters=[...])." if name in self.mechanism.parameters else ""
                raise unknown_name("varying parameter", name, self.varying, hint)
        m, states = self.mechanism, len(inputs)
        run = for_mimic_joints(quantity, algorithm, list(inputs))

        def one(*arrays: Array) -> Array:
            varied = m.varied(dict(zip(given, arrays[states:], strict=True))) if given else m
            return run(varied, *arrays[:states])

        inputs = inputs | {name: Input(value, m.parameters[name].shape) for name, value in given.items()}
        # inputs that are not finite pass here; the check of the results finds their effect
        arrays, batch = checked(inputs, finite=False)
        for name, array in zip(given, arrays[states:], strict=True):
            self.mechanism.check_parameter(name, array)
        if out is not None:
            require_out(out, batch + result)
            arrays = [array.copy() if np.may_share_memory(out, array) else array for array in arrays]
        if self.target == "numpy" or any(array.dtype == object for array in arrays):
            found = over_batch(
                watched(quantity, one) if self.check else unwatched(one, result), inputs, result, finite=self.check
            )
            if out is None:
                return found
            np.copyto(out, found)
            return out
        kernel = self._kernel((quantity, *fixed, *inputs), one, [core for _, core in inputs.values()], result)
        (found,), finite = kernel.over_batch(arrays, batch, self.threads, None if out is None else [out])
        if self.check and not finite:
            checked(inputs)
            explain_non_finite(quantity, one, members(arrays, inputs, batch), found.reshape(-1, *result))
        if batch == () and quantity not in vars(self).keys() | SEVERAL and not fixed and inputs.keys() <= PLAIN:
            self._install_fast_call(quantity, kernel)
        return found

    def _kernel(self, name: tuple[str, ...], one: Callable[..., Array], cores: list[Shape], result: Shape) -> Kernel:
        """Return the compiled kernel with the name `name`; compile it at its first use.

        `name` is the quantity, then fixed arguments, then the names of the inputs. The kernel evaluates `one`, a
        function of one state. `cores` are the shapes of its arguments for one state, and
        `result` is the shape of its result.
        """
        with BUILDING:
            if name not in self._kernels:
                # imported only here, so that importing linkwork loads no compiler
                from linkwork.evaluation import dynamics_kernels

                self._kernels[name] = dynamics_kernels.kernel_of(self.mechanism, name, one, cores, result)
        return self._kernels[name]

    def _install_fast_call(self, quantity: str, kernel: Kernel) -> None:
        """Replace the method `quantity` of this object by a direct call of its compiled kernel.

        Later calls with one state then take about a microsecond; all other calls use the method as before.
        """
        from linkwork.evaluation import dynamics_kernels

        setattr(self, quantity, dynamics_kernels.as_method(kernel, getattr(type(self), quantity), self))

    def _require_frame(self, frame: str, expressed: str = "body") -> None:
        """Raise an error that lists the valid names, unless the frame exists and `expressed` names valid axes."""
        self.mechanism.frames.index_of(frame)
        if expressed not in jacobians.EXPRESSED:
            raise unknown_name("choice of axes for a Jacobian", expressed, jacobians.EXPRESSED)
