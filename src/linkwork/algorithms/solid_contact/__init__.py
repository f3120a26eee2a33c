"""Contact between solids: detection of touching pairs, impulses of rigid contact, and forces of compliant contact."""
