"""Structure-preserving integrators for users' own Lagrangians."""
