"""What mechanics says of a mechanism: pure functions of one state, without batch axis or backend.

Each page follows one source and cites its equations. Functions take a Mechanism and arrays of numbers and return
arrays or a small named record.
"""
