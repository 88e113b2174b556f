"""Who may come near: the house's own certificates, and letting devices in."""
