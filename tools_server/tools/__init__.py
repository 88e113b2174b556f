"""One file a tool family; found by listing this folder."""
