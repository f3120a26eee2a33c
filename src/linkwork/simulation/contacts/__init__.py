"""Steps through contacts: with springs, and rigid ones."""
