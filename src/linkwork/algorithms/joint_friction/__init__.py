"""Dry friction of joints that depends on the load: limits of the friction forces, and dynamics coupled with them."""
