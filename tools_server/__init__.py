"""The one place with power: tools behind a gate, in a process of their own."""
