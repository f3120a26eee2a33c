"""Independent formulations of the equations of motion: second opinions."""
