"""What this machine gives: a file for each thing that is measured. Run with `atlas bench NAME`."""
