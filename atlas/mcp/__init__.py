"""Between Atlas and the tool server: MCP on one side, Atlas words on the other."""
