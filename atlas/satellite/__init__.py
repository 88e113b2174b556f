"""A room's client of the house: microphone, wake word and loudspeaker. A process of its own, light enough for a Pi."""
