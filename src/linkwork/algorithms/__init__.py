"""Dynamics algorithms: pure functions of a mechanism and one state, without batch axes or backend.

Each module follows one source and cites its equations: S0 is Nelson and Quinn, S1 Muir and Neuman, S2 Schiehlen, S3
SpaceDyn, S4 Wendlandt (see docs/papers). Functions take a Mechanism and arrays and return arrays or a named tuple.
Unless stated otherwise, q (nq,) are coordinates [rad or m, or quaternions], v (nv,) velocities [rad/s or m/s], a (nv,)
accelerations [rad/s^2 or m/s^2] and tau (nv,) joint forces [N m or N]. `wrenches` (nbodies, 6) are external wrenches on
the bodies [N, N m], at the origins and in the axes of the bodies' frames.
"""
