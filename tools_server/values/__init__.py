"""Values and rules that the rest of the tool server is made of: permissions, paths, languages, error codes."""
