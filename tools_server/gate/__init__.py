"""The one path of every call to a tool, and what it passes on the way."""
