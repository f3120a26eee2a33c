"""Contact between solids: detection of touching pairs, impulses of rigid contact, and forces of compliant contact.

A *pair* is two solids A and B that can touch, in up to four *points*. The axes of a point are its normal, from B to A,
and two tangents. The *speeds* (12,) of a pair are the components of the relative velocities of its four points along
these axes, the *impulses* (12,) those of the impulses on A. Loops over all pairs read and write these numbers in row
arrays (`spatial.row_arrays`), with one row for each pair.
"""
