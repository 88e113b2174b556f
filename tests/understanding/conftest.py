"""What minds and understanding are tested with is one small world."""

from tests.agents.conftest import assents, grammar, house, tools

__all__ = ["assents", "grammar", "house", "tools"]
