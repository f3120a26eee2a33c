"""`compile` and `Dynamics`: every algorithm as a method that takes any batch of states."""

from __future__ import annotations

from collections.abc import Iterable

from linkwork.errors import LinkworkError, ModelError, unknown_name
from linkwork.evaluation.constraint_methods import ConstraintMethods
from linkwork.evaluation.kinematics_methods import KinematicsMethods
from linkwork.evaluation.momentum_and_energy import MomentumMethods
from linkwork.model.batch_broadcasting import checked_threads
from linkwork.model.mechanism import Mechanism

TARGETS = ("cpu", "numpy")


def compile(
    mechanism: Mechanism,
    parameters: Iterable[str] = (),
    target: str = "cpu",
    threads: int | None = None,
    check: bool = True,
) -> Dynamics:
    """Return a `Dynamics` object, whose methods compute the dynamics of a mechanism for any batch of states.

    Parameters
    ----------
    mechanism : Mechanism
        From `Builder.build()`, `load` or `example`.
    parameters : str or iterable of str, default none
        Names of the parameters whose values may change from call to call; `mechanism.parameters` lists them.
        All other parameters are constants of the compiled code.
    target : {"cpu", "numpy"}, default "cpu"
        "cpu" runs machine code that is generated for this mechanism. A method compiles at its first call; the
        compiled code is cached on disk. "numpy" runs the same algorithms in plain NumPy, one state after the other
        on one thread. "numpy" is the reference for checking.
    threads : int, optional
        Largest number of threads for a batch; all processors by default. Only for target "cpu".
    check : bool, default True
        Raise `NonFinite` if a result is not finite. With False, return such results as they are, together with the
        valid results of the other batch members. The check costs no measurable time.

    Returns
    -------
    Dynamics
        Object with a method for each quantity, such as `forward_dynamics` and `mass_matrix`.

    Raises
    ------
    ModelError
        If `mechanism` is not a Mechanism, or a name in `parameters` is not one of its parameters.
    LinkworkError
        If `target` or `threads` is not valid.

    Examples
    --------
    >>> d = lw.compile(lw.example("double_pendulum"), parameters=["link 1.mass"])
    >>> d.gravity([0.5, 0.0]).round(3)
    array([152.853,  49.383])
    >>> d.gravity([0.5, 0.0], parameters={"link 1.mass": [2.0, 4.0]}).round(3)
    array([[152.853,  49.383],
           [190.478,  49.383]])

    """
    if not isinstance(mechanism, Mechanism):
        raise ModelError(
            f"compile needs a Mechanism, for example from lw.example(...) or builder.build(); got {mechanism!r:.80}"
        )
    if target not in TARGETS:
        raise unknown_name("target", target, TARGETS)
    threads = checked_threads(threads)
    if target == "numpy" and threads not in (None, 1):
        raise LinkworkError(f"target 'numpy' runs on one thread; got threads={threads!r}")
    varying = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    for name in varying:
        if name not in mechanism.parameters:
            raise mechanism.unknown_parameter(name)
    return Dynamics(mechanism, varying, target, threads, bool(check))


class Dynamics(KinematicsMethods, ConstraintMethods, MomentumMethods):
    """Dynamics of one mechanism: every method takes one state or any batch of states. Made by `compile`.

    All methods broadcast the batch shapes `...` of their inputs as NumPy does, and return arrays of float64.

    ============  =======================  ==================================================================
    argument      shape                    meaning
    ============  =======================  ==================================================================
    `q`           (..., nq)                coordinates [rad, m, unit quaternions]
    `v`           (..., nv)                velocities [rad/s, m/s]
    `a`           (..., nv)                accelerations, the rates of v [rad/s^2, m/s^2]
    `tau`         (..., nv)                joint forces [N m, N]
    `wrenches`    (..., nbodies, 6)        external wrench on each body, force [N] before torque [N m], about
                                           the origin of the body's frame in its axes; bodies as in
                                           `mechanism.bodies` without the world; zero by default
    `parameters`  {name: (..., *shape)}    values of the parameters that `compile` named as varying; the
                                           mechanism's values by default
    `out`         shape of the result      array that receives the result and is returned
    ============  =======================  ==================================================================

    The equations of motion are M(q) a + bias(q, v) = tau + J^T lambda, plus the joint forces of the wrenches. The
    constraint forces J^T lambda are those of loops, engaged clutches and brakes. `forward_dynamics` and
    `inverse_dynamics` leave out springs, damping and friction: see `passive`.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    varying : tuple of str
        Names of the parameters that calls may change.
    target : {"cpu", "numpy"}
        Compiled machine code ("cpu") or plain NumPy ("numpy").
    threads : int or None
        Largest number of threads for a batch.
    check : bool
        Whether a result that is not finite raises `NonFinite`.

    Raises
    ------
    ShapeError
        By every method, if an array does not fit the mechanism or the other arrays.
    NonFinite
        By every method, if `check` is True and a result is not finite. The message names the batch member, the joint
        and the failing line of linkwork's algorithm. An input that is not finite and that the result does not depend
        on is not reported.

    Examples
    --------
    >>> d = lw.compile(lw.example("double_pendulum"))
    >>> q, v = np.array([0.5, 0.2]), np.array([1.0, -1.0])
    >>> d.forward_dynamics(q, v, d.bias(q, v)).round(9) + 0.0
    array([0., 0.])
    >>> d.mass_matrix(np.zeros((10, 5, 2))).shape
    (10, 5, 2, 2)

    """
