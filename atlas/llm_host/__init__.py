"""The process that holds model weights and speaks the HTTP API of OpenAI."""
