"""Times as people say them: moments, recurrences, and what is due at them."""
