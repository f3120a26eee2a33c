"""Methods of `Dynamics` for the whole mechanism: momentum, centre of mass and energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.algorithms import momentum
from linkwork.algorithms.passive_joint_forces import spring_energy
from linkwork.algorithms.symmetries import momentum_maps
from linkwork.evaluation.batch_evaluation import BatchEvaluation, Out, Parameters
from linkwork.model.analysis_results import Symmetry
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array


class MomentumMethods(BatchEvaluation):
    """Methods of `Dynamics` for the whole mechanism: momentum, conserved momenta, centre of mass and energies."""

    def momentum(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the linear and angular momentum of the mechanism, about its centre of mass and in the world's axes.

        Parameters
        ----------
        q, v : arrays, shapes (..., nq) and (..., nv), [rad, m] and [rad/s, m/s]
            Coordinates and velocities.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., 6), [kg m/s, kg m^2/s]
            Linear before angular momentum.

        Examples
        --------
        >>> d = lw.compile(lw.example("tumbling_body"))  # 1 kg, principal inertias 1, 2, 3 kg m^2
        >>> d.momentum([0, 0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 3, 4]).round(3)
        array([ 1.,  0.,  0.,  0.,  6., 12.])

        """
        return self._evaluate("momentum", momentum.momentum, self._state(q, v), (6,), parameters, out)

    def momentum_rate(self, q: Any, v: Any, a: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the time derivative of `momentum` for the accelerations a.

        Parameters
        ----------
        q, v, a : arrays, shapes (..., nq), (..., nv) and (..., nv), [rad, m], [rad/s, m/s] and [rad/s^2, m/s^2]
            Coordinates, velocities and accelerations.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., 6), [N, N m]
            Total external force, and total external torque about the centre of mass, in the world's axes.

        Examples
        --------
        >>> d = lw.compile(lw.example("tumbling_body"))
        >>> d.momentum_rate([0, 0, 0, 1, 0, 0, 0], np.zeros(6), [2, 0, 0, 0, 0, 1]).round(3)
        array([2., 0., 0., 0., 0., 3.])

        """
        return self._evaluate("momentum_rate", momentum.momentum_rate, self._state(q, v, a=a), (6,), parameters, out)

    def momentum_matrix(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the centroidal momentum matrix A: `momentum` is A v.

        The momentum is about the centre of mass of the mechanism, in the world's axes.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., 6, nv), [kg, kg m, kg m^2]
            Rows of linear before rows of angular momentum.

        Examples
        --------
        >>> d = lw.compile(lw.example("tumbling_body"))
        >>> d.momentum_matrix([0, 0, 0, 1, 0, 0, 0]).diagonal().round(3)
        array([1., 1., 1., 1., 2., 3.])

        """
        shape = (6, self.mechanism.nv)
        return self._evaluate("momentum_matrix", momentum.momentum_matrix, self._state(q), shape, parameters, out)

    def momentum_maps(
        self, q: Any, v: Any, *, symmetries: Sequence[Symmetry] | None = None, parameters: Parameters = None
    ) -> Array:
        """Return the momenta of symmetries of the mechanism, such as an angular momentum about the vertical.

        A momentum is conserved unless external forces act along its symmetry.

        Parameters
        ----------
        q, v : arrays, shapes (..., nq) and (..., nv), [rad, m] and [rad/s, m/s]
            Coordinates and velocities.
        symmetries : sequence of Symmetry, optional
            Symmetries; `mechanism.symmetries()` by default.
        parameters : mapping, optional
            Values of varying parameters: see `Dynamics`.

        Returns
        -------
        array, shape (..., k), [kg m^2/s or kg m/s]
            One momentum per symmetry: an angular momentum about its axis, or a linear momentum along its direction.

        Examples
        --------
        >>> m = lw.example("heavy_top")
        >>> [symmetry.momentum for symmetry in m.symmetries()]
        ['angular momentum about z']
        >>> lw.compile(m).momentum_maps(m.neutral(), [0.0, 0.0, 10.0]).round(4)
        array([0.008])

        """
        chosen = self.mechanism.symmetries() if symmetries is None else symmetries
        twists = np.array([symmetry.twist for symmetry in chosen]).reshape(-1, 6)

        def algorithm(m: Mechanism, q: Array, v: Array) -> Array:
            return momentum_maps(m, q, v, twists)

        shape, state = (len(twists),), self._state(q, v)
        return self._evaluate("momentum_maps", algorithm, state, shape, parameters, None, repr(twists.tolist()))

    def center_of_mass(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the centre of mass of the mechanism in the world.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., 3), [m]
            Position in the world.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.center_of_mass([0.0, 0.0]).round(3) + 0.0
        array([ 0.   , -5.909,  0.   ])

        """
        return self._evaluate("center_of_mass", momentum.center_of_mass, self._state(q), (3,), parameters, out)

    def energy(self, q: Any, v: Any, *, parameters: Parameters = None) -> tuple[Array, Array]:
        """Return the kinetic energy and the potential energy of gravity.

        Energy of springs is left out: see `spring_energy`.

        Parameters
        ----------
        q, v : arrays, shapes (..., nq) and (..., nv), [rad, m] and [rad/s, m/s]
            Coordinates and velocities.
        parameters : mapping, optional
            Values of varying parameters: see `Dynamics`.

        Returns
        -------
        kinetic, potential : arrays, each of shape (...), [J]
            The potential energy is zero with the centre of mass at the height of the world's origin.

        Examples
        --------
        >>> d = lw.compile(lw.example("tumbling_body"))
        >>> kinetic, potential = d.energy([0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 3, 4])
        >>> round(float(kinetic), 9), float(potential) + 0.0
        (33.0, 0.0)

        """
        both = self._evaluate("energy", momentum.energy, self._state(q, v), (2,), parameters, None)
        return both[..., 0], both[..., 1]

    def spring_energy(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the energy stored in springs of joints, in springs between bodies, and in other force elements.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (...), [J]
            Energy stored in springs and other force elements, which `energy` does not contain.

        Examples
        --------
        >>> m = lw.example("five_bar")  # springs of 8 N m/rad at rest at 2.1 rad and 0.9 rad
        >>> d = lw.compile(m)
        >>> round(float(d.spring_energy([2.4, 0.0, 0.9, 0.0])), 6)
        0.36

        """
        return self._evaluate("spring_energy", spring_energy, self._state(q), (), parameters, out)
