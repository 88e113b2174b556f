"""One call from a command line, and the sessions such calls belong to."""
