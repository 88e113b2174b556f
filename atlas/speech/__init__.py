"""Ears and voice: wake words, speech detection, recognition, synthesis."""
