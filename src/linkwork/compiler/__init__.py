"""Expression graphs of plain NumPy functions, compiled to machine code."""
