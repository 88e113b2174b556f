"""The error codes of our own on the wires, each with one meaning. Pure.

JSON-RPC leaves -32000 to -32099 to servers, and MCP the first twenty of them to implementations.
"""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class Code(IntEnum):
    """What went wrong that JSON-RPC itself has no code for."""

    SPENT = -32000  # a limit or a budget of policy.toml is used up
    ESCAPE = -32001  # a way out of a whitelisted folder was blocked
    UNPROVEN = -32002  # the rules could not be proven sound, so the server does not start
    TOO_LARGE = -32003  # a message is longer than any may be
    BUSY = -32004  # too many requests wait for their answers; the same request may succeed in a moment
