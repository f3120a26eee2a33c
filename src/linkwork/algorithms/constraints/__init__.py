"""Constraints of loops, clutches, brakes and contacts: constraint rows, multipliers, and projection of states."""
