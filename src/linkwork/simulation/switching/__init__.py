"""What switches while it runs: schedules, guards, latches, slipping clutches, and the jump of velocities."""
