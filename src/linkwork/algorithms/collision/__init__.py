"""Contact functions of solids: each returns the contact patch, of up to four points, of two shapes."""
