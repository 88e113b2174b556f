"""Doors over HTTP and WebSocket."""
