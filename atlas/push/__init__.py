"""Web Push: what tells a device whose app is closed that something waits, sealed from every push service."""
