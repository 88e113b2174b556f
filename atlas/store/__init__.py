"""What Atlas remembers, in SQLite files: conversations, turns, and the devices that may come in."""
