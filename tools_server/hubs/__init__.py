"""The devices of a house, and the hubs that they are connected to."""
