"""Other MCP servers behind our gate."""
