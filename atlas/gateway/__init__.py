"""The front door: HTTP and WebSocket in, turns and sounds out, in the wire formats of OpenAI."""
