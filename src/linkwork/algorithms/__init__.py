"""What mechanics says of a mechanism: pure functions of one state, without batch axis or backend.

Each page follows one source and cites its equations: S0 is Nelson and Quinn, S1 Muir and Neuman, S2 Schiehlen, S3
SpaceDyn, S4 Wendlandt (see docs/papers). Functions take a Mechanism and arrays of numbers and return arrays or a small
named record.
"""
