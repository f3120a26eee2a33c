"""One integration step of each method."""
