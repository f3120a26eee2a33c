"""Constraints of loops, clutches, brakes and contacts: Jacobian rows, multipliers, and projection of states."""
