"""Model files: which, from where, and whether they are whole."""
