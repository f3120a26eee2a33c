"""Runners: fixed-step and adaptive runs, the interactive simulator, compiled programs, and failure diagnosis."""
