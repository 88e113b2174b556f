"""Minds that answer turns."""
