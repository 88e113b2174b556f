"""What the house remembers, on disk."""
