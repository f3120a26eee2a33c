"""Model files: readers of TOML documents, URDF and MJCF, and the writer of TOML documents."""
