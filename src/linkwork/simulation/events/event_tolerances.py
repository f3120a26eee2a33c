"""Tolerances of events: location in time, guards, impulses and the texts of the event log."""

# --- location, as fractions of the step ---
EVENT_DELAY = 1e-9  # largest delay of a located event, and shortest substep
FIRST_TRIAL = 1e-6  # first trial time if an event function is negative at the start, after a velocity jump
EXACT_DELAY, EXACT_TRIALS = 4e-16, 200  # largest delay as a fraction of the curve, and most trials, of `first_event`

# --- guards ---
REARMED = 1e-9  # a guard that fired is armed again if its value is below -REARMED
SLOPE_TIME = 1e-7  # [s] time over which the time derivative of a guard is a finite difference

# --- impulses ---
PULLING_IMPULSE = 1e-9  # pulling impulse of a ratchet, relative to the largest impulse, that counts as none

# --- texts of events ---
SMALLEST_ENERGY = 1e-12  # [J] smaller energies are left out
SMALLEST_GAP = 1e-6  # [m or rad] smaller loop closure errors are left out
