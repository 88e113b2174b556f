"""Open all that the tool server consists of, in order, and put up its walls first."""
