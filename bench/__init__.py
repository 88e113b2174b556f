"""Figures of speed, each as a ratio or a time beside its command. Run with `atlas bench NAME`."""
