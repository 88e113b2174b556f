"""What holds everywhere, and needs no network to be known: numbers, units, the sun and the moon."""
