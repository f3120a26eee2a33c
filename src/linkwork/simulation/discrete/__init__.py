"""Systems given by their Lagrangian, stepped from discrete principles of mechanics."""
