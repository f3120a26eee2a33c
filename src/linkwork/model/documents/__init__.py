"""Mechanisms in files: readers and writers of TOML, URDF and MJCF."""
