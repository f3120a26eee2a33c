"""Everything that can be put on a tree of bodies and joints, one file each."""
