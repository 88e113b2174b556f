"""The wires that MCP comes by, and what is read off them."""
