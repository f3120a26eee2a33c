"""Contact of solids with solids: for each pair of shapes a function that returns a patch of up to four points."""
