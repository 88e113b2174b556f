"""Events, where they lie, and when they happen."""
