"""Command-line programs: `linkwork`, the demo and the drawings of the documentation."""
