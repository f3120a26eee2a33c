"""Independent formulations of the equations of motion, used to check each other."""
