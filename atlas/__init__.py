"""Atlas: the voice of a house, on the house's own hardware."""

__version__ = "0.1.0"
