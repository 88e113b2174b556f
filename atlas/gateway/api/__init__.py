"""The house's own API below `/api/`: one file per resource, typed, and described by an OpenAPI document."""
