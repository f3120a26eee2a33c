"""Dynamics algorithms: pure functions of a mechanism and one state, without batch axes or backend.

Each module follows one source and cites its equations: S0 is Nelson and Quinn, S1 Muir and Neuman, S2 Schiehlen, S3
SpaceDyn, S4 Wendlandt (see docs/papers). Functions take a Mechanism and arrays and return arrays or a named tuple.
"""
