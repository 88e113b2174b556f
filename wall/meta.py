"""The keys of `_meta` in MCP messages, and the audiences of signed statements, as house and tool server spell them."""

from __future__ import annotations

# Of a call.
ACTOR_META = "atlas.house/actor"  # on whose behalf: person, device, role, room, device_id
TURN_META = "atlas.house/turn"
TAINTED_META = "atlas.house/tainted"  # whoever asks for it has read untrusted words since a person last spoke
LANGUAGE_META = "atlas.house/language"  # "de": its sentences are to be in that language, where tools speak it
# Of a result.
RECEIPT_META = "atlas.house/receipt"
ERROR_META = "atlas.house/error"
CODE_META = "atlas.house/code"
DATA_META = "atlas.house/data"  # of a failure: what there is to know of it, such as which of several could be meant
ASK_META = "atlas.house/ask"  # the question that a person has to answer first
UNTRUSTED_META = "atlas.house/untrusted"  # of a result, of any kind: words of others are in it
# Of a listed tool.
TOOL_META = "atlas.house/tool"  # its name in the house, by which rules and receipts speak of it
ALIAS_META = "atlas.house/alias"  # it is listed under its own name, too, which is this

CONFIRM = "confirm"  # the one input that the tool server asks for, and the error of a call that lacks a yes
ANSWER_AUDIENCE = "atlas-tools"  # of a person's answer, as the house signs it
HEAD_AUDIENCE = "atlas-record"  # of the head of the record, as the house signs it
EGRESS_HEAD_AUDIENCE = (
    "atlas-egress-record"  # of the head of the record of the way out: neither may stand for the other
)
