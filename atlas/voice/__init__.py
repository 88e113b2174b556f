"""Taking turns in speech: one microphone, one speaker, real time."""
