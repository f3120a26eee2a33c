"""Mechanisms in files: linkwork's own documents, URDF and MJCF, read with every fault at its line and written whole."""
