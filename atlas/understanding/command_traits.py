"""Tells of commands what kind they are: looks, deeds in the house, things written down, and which are alike. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.understanding.frame_words import Token
from atlas.understanding.names import Names
from atlas.understanding.parser import Parse, act_of, are_opposite
from atlas.understanding.slots import Command
from atlas.understanding.spoken_tools import open_spoken_tools

PAST = "conversation."  # how commands about what was said are called; no tool server has them
ADDING = ("lists.add", "tasks.add", "notes.create", "reminders.add", "calendar.add")
_ALIKE = {  # acts that come to the same for many things
    frozenset(pair.split("/"))
    for pair in (  # noqa: SIM905
        "open/unlock close/lock query/play on/play off/pause off/dock on/clean on/mow on/open off/close on/scene "
        "position/open position/close on/brightness brightness/brighter brightness/darker temperature/warmer "
        "temperature/cooler volume/louder volume/quieter speed/faster speed/slower"
    ).split()
}


def only_look(commands: Sequence[Command]) -> bool:
    """Tell whether commands change nothing."""
    tools = open_spoken_tools()
    return all(tools.only_looks(one.tool) for one in commands)


def of_home(commands: Sequence[Command]) -> bool:
    """Tell whether all commands are about the devices of the house."""
    return all(one.tool.startswith("home.") for one in commands)


def name_any(commands: Sequence[Command]) -> bool:
    """Tell whether some command says which devices it is about."""
    return any({"device", "room", "floor", "everything"} & {*command.arguments} for command in commands)


def says_all(command: Command) -> bool:
    """Tell whether no argument holds words that nobody checked."""
    return command.tool.startswith("home.") and "query" not in command.arguments


def written_down(command: Command) -> Sequence[str]:
    """Return the words that a command writes down."""
    values = [command.arguments.get(key) for key in ("items", "text", "title")]
    texts = [value if isinstance(value, list) else [value] for value in values if isinstance(value, (str, list))]
    return [str(one) for some in texts for one in some]


def is_unknown(command: Command, names: Names) -> bool:
    """Tell whether a command names a device that this house has not."""
    device = str(command.arguments.get("device", "")).casefold()
    called = {name.casefold() for one in names.devices for name in one.all_names}
    return bool(device and names.devices) and device not in called


def is_nowhere(command: Command, names: Names) -> bool:
    """Tell whether a command is about devices of a shape that none of their kind in this house has."""
    shape, kind = command.arguments.get("shape"), command.arguments.get("kind")
    return bool(shape) and not any(one.shape == shape and kind in (None, one.kind) for one in names.devices)


def are_like(parse: Parse, commands: Sequence[Command]) -> bool:
    """Tell whether some command is for the act that the parser has, or for one that comes to the same for many."""
    acts = {act_of(one.tool, one.arguments) for one in commands}
    return parse.act in acts or any({parse.act, act} in _ALIKE for act in acts)


def contradicts(parse: Parse, commands: Sequence[Command], tokens: Sequence[Token]) -> bool:
    """Tell whether the parser has the opposite of a deed that a sentence has a word for.

    So it reads "turn the telly quieter, one hears it up here".
    """
    acts = {act_of(one.tool, one.arguments) for one in commands}
    words = {one.value for one in tokens if one.category == "action" and one.value in acts}
    return any(are_opposite(word, parse.act) for word in words)


def is_about(parse: Parse, commands: Sequence[Command]) -> bool:
    """Tell whether the parser has what the last of some commands does, or another deed on the same timers, say."""
    topic, _, rest = parse.act.partition(".")
    return are_like(parse, commands[-1:]) or bool(rest and commands[-1].tool.startswith(f"{topic}."))


def opens_up(commands: Sequence[Command]) -> bool:
    """Whether commands unlock or open anything: what may be read so only when it was surely said."""
    return any(
        one.tool in ("home.unlock", "home.open") or one.arguments.get("tool") == "home.unlock" for one in commands
    )
