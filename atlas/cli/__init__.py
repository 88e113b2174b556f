"""Doors for a terminal."""
