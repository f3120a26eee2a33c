"""Integration methods: steps from one state to the next, and the registry of methods."""
