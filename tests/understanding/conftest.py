"""What minds and understanding are tested with is one small world."""

from tests.agents.conftest import confirmations, grammar, house, tools

__all__ = ["confirmations", "grammar", "house", "tools"]
