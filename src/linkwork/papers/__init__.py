"""The papers' tables and figures, computed anew."""
