"""sentences.yaml → a house's own sentences, or the one line that is wrong with it. Reads text, and no file.

The form is Home Assistant's: `intents`, `lists`, `expansion_rules` and `responses` as its custom sentences have them,
`intent_script` as its configuration has it, with scenes and tools of this house as actions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import hassil
import yaml
from hassil.expression import Alternative, Expression, Group, ListReference, RuleReference, TextChunk
from hassil.parser import ParseError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from atlas.conversation import Tool
from atlas.errors import ConfigError
from atlas.schemas import Misfit, hold
from atlas.understanding.custom import ANY, NONE, SCENE, TEMPLATE, CustomSentences, Script
from atlas.understanding.public import FROM_NAMES
from atlas.understanding.slots import Command

MOST_BYTES = 256 * 1024
MOST_SENTENCES = 1_000
MOST_VALUES = 2_000
# hassil tries every way in which a sentence can be left out of or cut: each of these doubles its time, or worse.
MOST_OPTIONAL = 12
MOST_WILDCARDS = 3
MOST_PARTS = 5_000  # of a sentence once its rules are written out
MOST_DEPTH = 12  # of rules in rules
_JINJA = re.compile(r"\{%|\{\{(?! *\w+ *\}\})")
_PUBLIC = re.compile(r"Hass[A-Z]\w*")
_LETTER = re.compile(r"[^\W_]")

Keys = tuple[str | int, ...]  # names and numbers that lead to a value in the file
Text = Annotated[str, Field(min_length=1, max_length=500)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Block(_Part):
    sentences: list[Text] = Field(min_length=1)
    slots: dict[str, str | int | float | bool | list[str]] = {}
    response: str = "default"
    requires_context: dict[str, Any] = {}
    excludes_context: dict[str, Any] = {}


class _Intent(_Part):
    data: list[_Block] = Field(min_length=1)


class _Value(_Part):
    spoken: Text = Field(alias="in")
    out: str | int | float | bool


class _Range(_Part):
    first: int = Field(alias="from", ge=-1000)
    last: int = Field(alias="to", le=100_000)


class _List(_Part):
    values: list[Text | _Value] = []
    range: _Range | None = None
    wildcard: bool = False

    @model_validator(mode="after")
    def _is_one(self) -> _List:
        if bool(self.values) + bool(self.range) + self.wildcard != 1:
            raise ValueError("a list has either values, a range, or wildcard: true")
        return self


class _Action(_Part):
    scene: str = ""
    action: str = ""
    data: dict[str, Any] = {}

    @model_validator(mode="after")
    def _is_one(self) -> _Action:
        if bool(self.scene) == bool(self.action):
            raise ValueError("an action is either `scene: NAME` or `action: TOOL` with its `data`")
        return self


class _Speech(_Part):
    text: Text


class _Script(_Part):
    action: list[_Action] = Field(default=[], max_length=8)
    speech: _Speech | None = None


class _Responses(_Part):
    intents: dict[str, dict[str, Text]] = {}


class _File(_Part):
    language: str = ""
    intents: dict[str, _Intent] = {}
    lists: dict[str, _List] = {}
    expansion_rules: dict[str, Text] = {}
    responses: _Responses = _Responses()
    intent_script: dict[str, _Script] = {}


class _Wrong(Exception):
    """What is wrong, and the way to it."""

    def __init__(self, where: Keys, what: str) -> None:
        super().__init__(what)
        self.where = where


def read_custom(text: str, file: Path, language: str, tools: Sequence[Tool] = ()) -> CustomSentences:
    """Return the sentences of a file. Raises `ConfigError`, which says the first line that is wrong and what is.

    With no `tools`, calls of them are not looked at: the tool server may still be starting.
    """
    if len(text.encode()) > MOST_BYTES:
        raise ConfigError(f"{file} is longer than {MOST_BYTES // 1024} KB", hint="take sentences out of it")
    lines: dict[Keys, int] = {(): 1}
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return NONE
        _number_lines(node, (), lines)
        plain = loader.construct_document(node)
        return _sentences(_parsed(plain), language, {tool.name: tool for tool in tools})
    except yaml.MarkedYAMLError as trouble:
        mark = trouble.problem_mark or trouble.context_mark
        at, what = mark.line + 1 if mark else 1, f"this is not YAML: {trouble.problem}"
    except (yaml.YAMLError, RecursionError) as trouble:
        at, what = 1, f"this is not YAML: {trouble}"
    except _Wrong as trouble:
        where = trouble.where
        while where not in lines:
            where = where[:-1]
        at, what = lines[where], str(trouble)
    raise ConfigError(f"{file}, line {at}: {what}", hint="mend that line; it is read again at once")


def _number_lines(node: yaml.Node, where: Keys, lines: dict[Keys, int]) -> None:
    """Note the line of every key and every value. Raises `_Wrong` for a key that is there twice.

    A key is a name: `on` is not YAML's word for true there.
    """
    if len(where) > MOST_DEPTH:
        raise _Wrong(where, "this is nested too deeply")
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:bool":
                key.tag = "tag:yaml.org,2002:str"
            place = (*where, key.value)
            twice, lines[place] = place in lines, key.start_mark.line + 1
            if twice:
                raise _Wrong(place, f"{key.value} is here a second time")
            _number_lines(value, place, lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[*where, number] = value.start_mark.line + 1
            _number_lines(value, (*where, number), lines)


def _parsed(plain: Any) -> _File:
    try:
        return _File.model_validate(plain)
    except ValidationError as trouble:
        first = trouble.errors(include_url=False)[0]
        # Of a value that may be several things the error names those as well, which are no place in the file.
        raise _Wrong(first["loc"], _error_text(first)) from None


def _error_text(error: Mapping[str, Any]) -> str:
    name = error["loc"][-1] if error["loc"] else "the file"
    match error["type"]:
        case "extra_forbidden":
            return f"{name} is not known here"
        case "missing":
            return f"{name} is missing"
    return f"{name}: {str(error['msg']).removeprefix('Value error, ')}"


def _sentences(file: _File, language: str, tools: Mapping[str, Tool]) -> CustomSentences:
    if file.language and file.language != language:
        raise _Wrong(("language",), f"these are sentences in {file.language!r}, and the house speaks {language!r}")
    checked = _Checked(file)
    if sum(len(block.sentences) for intent in file.intents.values() for block in intent.data) > MOST_SENTENCES:
        raise _Wrong(("intents",), f"these are more than {MOST_SENTENCES} sentences")
    scripts: dict[str, Script] = {}
    for name in file.intent_script:
        if name not in file.intents:
            raise _Wrong(("intent_script", name), f"no sentence means {name}: add it to intents")
    for name, intent in file.intents.items():
        slots = checked.slots_of(name, intent)
        if name in file.intent_script:
            scripts[name] = _script(name, file.intent_script[name], slots, tools)
        elif "." in name and tools:
            if name not in tools:
                raise _Wrong(("intents", name), f"there is no tool {name}")
            _fit(tools[name], dict.fromkeys(slots), ("intents", name), whole=False)
        elif "." not in name and not _PUBLIC.fullmatch(name) and name not in file.responses.intents:
            raise _Wrong(("intents", name), f"nothing is done or said for {name}: add it to intent_script or responses")
        for key, response in file.responses.intents.get(name, {}).items():
            _templated(response, slots, ("responses", "intents", name, key))
    for name in file.responses.intents:
        if name not in file.intents:
            raise _Wrong(("responses", "intents", name), f"no sentence means {name}: add it to intents")
    grammar = file.model_dump(include={"intents", "lists", "expansion_rules"}, by_alias=True, exclude_defaults=True)
    return CustomSentences(
        {"intents": {}, **grammar}, scripts, file.responses.intents, dict(checked.examples(file.intents))
    )


def _script(name: str, written: _Script, slots: set[str], tools: Mapping[str, Tool]) -> Script:
    where: Keys = ("intent_script", name)
    commands: list[Command] = []
    for number, action in enumerate(written.action):
        place = (*where, "action", number)
        tool, arguments = (SCENE, {"name": action.scene}) if action.scene else (action.action, action.data)
        if tools and tool not in tools:
            raise _Wrong(place, f"there is no tool {tool}")
        templates = any(_templated(value, slots, (*place, "data")) for value in arguments.values())
        if tools:
            _fit(tools[tool], arguments, place, whole=not templates)
        commands.append(Command(tool, arguments, whole=True))
    speech = written.speech.text if written.speech else ""
    _templated(speech, slots, (*where, "speech"))
    if not commands and not speech:
        raise _Wrong(where, f"{name} has neither an action nor a speech")
    return Script(tuple(commands), speech)


def _fit(tool: Tool, arguments: Mapping[str, Any], where: Keys, *, whole: bool) -> None:
    """Raise `_Wrong` for arguments that a tool does not have; of `whole` values, also for such as it refuses."""
    if unknown := sorted({*arguments} - {*tool.parameters.get("properties", {})}):
        raise _Wrong(where, f"{tool.name} has no argument called {unknown[0]}")
    try:
        if whole:
            hold(arguments, tool.parameters)
    except Misfit as trouble:
        raise _Wrong(where, f"{tool.name} cannot be called so: {trouble}") from None


def _templated(written: Any, slots: set[str], where: Keys) -> bool:
    """Tell whether slots stand in a value. Raises `_Wrong` for one that no sentence has, and for other templates."""
    if isinstance(written, (list, dict)):
        inside = written.values() if isinstance(written, dict) else written
        return any([_templated(one, slots, where) for one in inside])  # noqa: C419 (each is looked at)
    if not isinstance(written, str):
        return False
    if _JINJA.search(written):
        raise _Wrong(where, "only slots can stand here, such as {{ area }}: nothing else is worked out")
    names = TEMPLATE.findall(written)
    for name in names:
        if name not in slots:
            raise _Wrong(where, f"no sentence has the slot {name}")
    return bool(names)


class _Checked:
    """The sentences, lists and rules of a file, looked at one by one."""

    def __init__(self, file: _File) -> None:
        self._file = file
        self._rules = {
            name: _expression(("expansion_rules", name), text) for name, text in file.expansion_rules.items()
        }
        if sum(len(one.values) for one in file.lists.values()) > MOST_VALUES:
            raise _Wrong(("lists",), f"these are more than {MOST_VALUES} values")
        for name, one in file.lists.items():
            for number, value in enumerate(one.values):
                _expression(("lists", name, "values", number), value if isinstance(value, str) else value.spoken)
            if one.range and one.range.first > one.range.last:
                raise _Wrong(("lists", name), f"the range of {name} begins after its end")
        for name, rule in self._rules.items():
            self._checked(rule, ("expansion_rules", name))

    def slots_of(self, name: str, intent: _Intent) -> set[str]:
        """Return the slots that an intent may have. Raises `_Wrong` for a sentence that cannot be said."""
        slots: set[str] = set()
        for number, block in enumerate(intent.data):
            where: Keys = ("intents", name, "data", number)
            if block.response != "default" and block.response not in self._file.responses.intents.get(name, {}):
                raise _Wrong((*where, "response"), f"{name} has no response called {block.response}")
            slots |= {*block.slots, *block.requires_context}
            for place, sentence in enumerate(block.sentences):
                slots |= self._slots(sentence, (*where, "sentences", place))
        return slots

    def examples(self, intents: Mapping[str, _Intent]) -> Iterator[tuple[str, str]]:
        """Yield each intent, and how one of its sentences is said."""
        for name, intent in intents.items():
            sentence = intent.data[0].sentences[0]
            yield name, " ".join(self._shortest(hassil.parse_sentence(sentence).expression).split())

    def _slots(self, sentence: str, where: Keys) -> set[str]:
        expression = _expression(where, sentence)
        lists = self._checked(expression, where)
        wild = any((one := self._file.lists.get(name)) and one.wildcard for name, _ in lists)
        if sum(1 for name, _ in lists if name in self._file.lists and self._file.lists[name].wildcard) > MOST_WILDCARDS:
            raise _Wrong(where, f"any words may stand in {MOST_WILDCARDS} places of a sentence at most")
        if self._optional(expression) > MOST_OPTIONAL:
            raise _Wrong(where, f"{MOST_OPTIONAL} parts of a sentence may be left out at most: make it two sentences")
        if wild and not self._needs_words(expression):
            raise _Wrong(where, "this would be anything at all: give it a word that must be said")
        return {slot for _, slot in lists}

    def _checked(self, expression: Expression, where: Keys) -> Sequence[tuple[str, str]]:
        """Return the lists of an expression, and their slots. Raises `_Wrong` for what it names and is not there."""
        self._parts = 0
        return [*self._lists(expression, where)]

    def _lists(self, part: Expression, where: Keys, depth: int = 0) -> Iterator[tuple[str, str]]:
        """Yield each list of an expression, and its slot."""
        self._parts += 1
        if depth > MOST_DEPTH:
            raise _Wrong(where, "a rule stands in itself")
        if self._parts > MOST_PARTS:
            raise _Wrong(where, "this is too long once its rules are written out")
        match part:
            case ListReference(list_name=name, slot_name=slot):
                if name not in self._file.lists and name not in FROM_NAMES:
                    raise _Wrong(where, f"there is no list {{{name}}}: add it to lists")
                yield name, slot
            case RuleReference(rule_name=name):
                if name not in self._rules:
                    raise _Wrong(where, f"there is no rule <{name}>: add it to expansion_rules")
                yield from self._lists(self._rules[name], where, depth + 1)
            case Group(items=items):
                for item in items:
                    yield from self._lists(item, where, depth)

    def _optional(self, part: Expression) -> int:
        """Return how many parts of an expression may be left out."""
        match part:
            case RuleReference(rule_name=name):
                return self._optional(self._rules[name])
            case Group(items=items):
                inside = sum(map(self._optional, items))
                return inside + 1 if isinstance(part, Alternative) and part.is_optional else inside
        return 0

    def _needs_words(self, part: Expression) -> bool:
        """Tell whether something must be said that is not just any words."""
        match part:
            case TextChunk(text=text):
                return bool(_LETTER.search(text))
            case ListReference(list_name=name):
                return not (name in self._file.lists and self._file.lists[name].wildcard)
            case RuleReference(rule_name=name):
                return self._needs_words(self._rules[name])
            case Alternative(items=items):
                return all(map(self._needs_words, items))
            case Group(items=items):
                return any(map(self._needs_words, items))
        return False

    def _shortest(self, part: Expression) -> str:
        """Return one way to say an expression: the first of each choice, without what may be left out."""
        match part:
            case TextChunk(text=text):
                return text
            case ListReference(list_name=name):
                one = self._file.lists.get(name)
                if one and one.values:
                    value = one.values[0]
                    spoken = value if isinstance(value, str) else value.spoken
                    return self._shortest(hassil.parse_sentence(spoken).expression)
                return str(one.range.last) if one and one.range else ANY
            case RuleReference(rule_name=name):
                return self._shortest(self._rules[name])
            case Alternative(items=items, is_optional=optional):
                return "" if optional else self._shortest(items[0])
            case Group(items=items):
                return "".join(map(self._shortest, items))
        return ""


def _expression(where: Keys, text: str) -> Expression:
    try:
        return hassil.parse_sentence(text).expression
    except ParseError as trouble:
        raise _Wrong(where, f"this is no sentence of hassil's: {trouble}") from None
