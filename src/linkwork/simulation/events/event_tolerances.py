"""Tolerances of events: location in time, guards, impulses and the texts of the event log."""

# --- location, as fractions of the step ---
EVENT_DELAY = 1e-9  # largest delay of a located event, and shortest substep
FIRST_TRIAL = 1e-6  # first trial time if a velocity jump has made an event function negative at the start
EXACT_DELAY, EXACT_TRIALS = 4e-16, 200  # of `first_event`: largest delay, and largest number of trials

# --- guards ---
REARMED = 1e-9  # a guard that fired is armed again if its value is below -REARMED
SLOPE_TIME = 1e-7  # [s] step of the difference quotient for the time derivative of a guard

# --- slip ---
STOPPED = 1e-7  # slip speed [rad/s or m/s] at an event below which several velocities with one limit come to rest

# --- impulses ---
PULLING_IMPULSE = 1e-9  # pulling impulse of a ratchet that counts as zero, relative to the largest impulse

# --- texts of events ---
SMALLEST_ENERGY = 1e-12  # [J] smaller energies are not in the text
SMALLEST_FORCE = 1e-12  # [N or N m] smaller forces, such as those of joints at rest, are not in the text
SMALLEST_GAP = 1e-6  # [m or rad] smaller loop closure errors are not in the text
