"""One step: methods for accelerations, and those that keep momenta, the symplectic form or energy."""
