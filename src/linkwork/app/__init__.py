"""How people reach linkwork without writing code."""
