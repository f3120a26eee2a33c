"""Constraints on a tree: their rows, multipliers and projections."""
