"""Whole simulations: fixed steps, adaptive steps, interactive."""
