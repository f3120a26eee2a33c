"""Contact between solids: detection of touching pairs, impulses of rigid contact, and forces of compliant contact.

A *pair* is two solids A and B that can touch, in up to four *points*. The axes of a point are its normal, from B to A,
and two tangents. The *speeds* (12,) [m/s] of a pair are the components of the velocity of A relative to B at its four
points along these axes. The *impulses* (12,) [N s] of a pair are the components of the impulses on A along the same
axes. Loops over all pairs read and write these numbers in row arrays (`spatial.row_arrays`), with one row for each
pair.
"""
