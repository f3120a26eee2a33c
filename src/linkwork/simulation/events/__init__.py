"""Events of a run: event location within steps, event sources, impulses, schedules and the event log."""
