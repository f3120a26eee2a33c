"""Structure-preserving integrators for user-defined Lagrangians (`lw.discrete`)."""
