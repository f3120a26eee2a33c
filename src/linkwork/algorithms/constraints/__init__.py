"""Constraints of loops, clutches, brakes and contacts: rows of the Jacobian, multipliers, and projection of states onto
the constraints.
"""
