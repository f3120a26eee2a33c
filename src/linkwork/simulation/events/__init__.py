"""Event location, event sources, impulses and the event log."""
