"""Stand-ins for the chat templates of real models: small, and as demanding, with a vocabulary to go with them.

Each demands what its model's own does: which names it wants to be given, what it refuses, what it writes only in some
places, and which control tokens it uses. They are written for these tests; the words around tools are left out.
"""

# ruff: noqa: E501 - a template that is broken into lines is another template

from __future__ import annotations

import re
from collections.abc import Sequence

from llguidance import LLTokenizer, TokenizerWrapper

BYTES = 256


class Vocabulary:
    """A vocabulary of single bytes and the control tokens that a template mentions."""

    def __init__(
        self, template: str, *, begin: str = "", ends: Sequence[str] = ("<|im_end|>", "<|endoftext|>")
    ) -> None:
        results = re.findall(r"<\|?/?[a-z_]+\|?>|\[/?[A-Z_]{3,}\]|</s>", template)
        self.special_texts = tuple(sorted({*results, *ends, *filter(None, [begin])}, key=len, reverse=True))
        self.metadata = {"tokenizer.chat_template": template}
        self.size = BYTES + len(self.special_texts)
        self._ends = [self._number(end) for end in ends]
        self.begin = self._number(begin) if begin else None

    def _number(self, special: str) -> int:
        return BYTES + self.special_texts.index(special)

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        if not special:
            return list(text.encode())
        tokens: list[int] = []
        for part in re.split("(" + "|".join(map(re.escape, self.special_texts)) + ")", text):
            tokens += [self._number(part)] if part in self.special_texts else part.encode()
        return tokens

    def text(self, token: int) -> str:
        return self.special_texts[token - BYTES] if token >= BYTES else chr(token)

    def ends(self, token: int) -> bool:
        return token in self._ends

    def tokenizer(self) -> LLTokenizer:
        return LLTokenizer(TokenizerWrapper(_Bytes(self)), slices=[])


class _Bytes:
    """What llguidance asks of a tokenizer."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = [bytes([i]) for i in range(BYTES)] + [b"\xff" + s.encode() for s in vocabulary.special_texts]
        self.special_token_ids = list(range(BYTES, vocabulary.size))
        self.bos_token_id = None
        self.eos_token_id = vocabulary._ends[0]

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


TURN = "{{ '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}"
ANSWER = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
LISTED = "{% if tools %}{{ '<|im_start|>system\n' }}{% for t in tools %}{{ t | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
CALL = """{{ '<tool_call>\n{"name": "' ~ c.function.name ~ '", "arguments": ' ~ c.function.arguments | tojson ~ '}\n</tool_call>' }}"""

QWEN25 = (
    LISTED
    + """{% for m in messages %}{% if m.role == 'tool' %}
{% if loop.previtem.role != 'tool' %}<|im_start|>user{% endif %}{{ '\n<tool_response>\n' ~ m.content ~ '\n</tool_response>' }}
{% if loop.last or loop.nextitem.role != 'tool' %}{{ '<|im_end|>\n' }}{% endif %}
{% elif m.tool_calls %}{{ '<|im_start|>assistant' }}{% if m.content %}{{ '\n' ~ m.content }}{% endif %}
{% for c in m.tool_calls %}{{ '\n' }}"""
    + CALL
    + "{% endfor %}{{ '<|im_end|>\n' }}{% else %}"
    + TURN
    + "{% endif %}{% endfor %}"
    + ANSWER
)
# Shows thoughts of the latest turn only, and begins an answer with an empty one where thinking is switched off.
QWEN3 = (
    LISTED
    + """{% set n = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set n.last = loop.index0 %}{% endif %}{% endfor %}
{% for m in messages %}{% if m.role == 'tool' %}{{ '<|im_start|>user\n<tool_response>\n' ~ m.content ~ '\n</tool_response><|im_end|>\n' }}
{% elif m.role == 'assistant' %}{% set words = m.content.split('</think>')[-1].lstrip('\n') %}
{{ '<|im_start|>assistant\n' }}{% if loop.last and loop.index0 > n.last %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{{ words }}
{% for c in m.tool_calls or [] %}{% if words or not loop.first %}{{ '\n' }}{% endif %}"""
    + CALL
    + "{% endfor %}{{ '<|im_end|>\n' }}{% else %}"
    + TURN
    + "{% endif %}{% endfor %}"
    + ANSWER
    + "{% if add_generation_prompt and enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
)
# Counts the tools even where there are none, and writes one line less after the last result.
HERMES2 = (
    "{{ bos_token }}{{ '<|im_start|>system\n' }}{% for t in tools %}{{ t.function.name ~ t.function.parameters.properties | length }}{% endfor %}<|im_end|>\n"
    """{% for m in messages %}{% if m.role == 'tool' %}{% if loop.previtem.role != 'tool' %}{{ '<|im_start|>tool\n' }}{% endif %}
{{ '<tool_response>\n' ~ m.content ~ '\n</tool_response>' }}{% if not loop.last %}{{ '\n' }}{% endif %}
{% if loop.last or loop.nextitem.role != 'tool' %}<|im_end|>{% endif %}
{% elif m.tool_calls is defined %}{{ '<|im_start|>assistant' }}{% for c in m.tool_calls %}{{ '\n' }}"""
    + CALL
    + "{% endfor %}{{ '<|im_end|>\n' }}{% else %}"
    + TURN
    + "{% endif %}{% endfor %}"
    + ANSWER
)
# One call at a time; the tools stand before the first question; words are trimmed; no question, no tools.
LLAMA3 = """{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = messages[0].content | trim %}{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}
{{ '<|start_header_id|>system<|end_header_id|>\n\n' ~ system ~ '<|eot_id|>' }}
{% if tools is not none and tools is defined %}{% if not messages %}{{ raise_exception('there is no first user message') }}{% endif %}
{{ '<|start_header_id|>user<|end_header_id|>\n\n' }}{% for t in tools %}{{ t | tojson(indent=4) }}{% endfor %}{{ messages[0].content | trim ~ '<|eot_id|>' }}{% set messages = messages[1:] %}{% endif %}
{% for m in messages %}{% if 'tool_calls' in m %}{% if m.tool_calls | length != 1 %}{{ raise_exception('only single tool-calls') }}{% endif %}
{{ '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "' ~ m.tool_calls[0].function.name ~ '", "parameters": ' ~ m.tool_calls[0].function.arguments | tojson ~ '}<|eot_id|>' }}
{% elif m.role == 'tool' %}{{ '<|start_header_id|>ipython<|end_header_id|>\n\n' ~ m.content | tojson ~ '<|eot_id|>' }}
{% else %}{{ '<|start_header_id|>' ~ m.role ~ '<|end_header_id|>\n\n' ~ m.content | trim ~ '<|eot_id|>' }}{% endif %}{% endfor %}
{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""
IN_TURNS = """{% set n = namespace(count=0) %}{% for m in rest %}{% if m.role != 'tool' and not m.tool_calls %}
{% if (m.role == 'user') != (n.count % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{% set n.count = n.count + 1 %}{% endif %}{% endfor %}"""
NINE = "{% if c.id | length != 9 %}{{ raise_exception('ids have length 9') }}{% endif %}"
# Persona and tools stand before the last question, wherever that is; results are a part of JSON.
MISTRAL_NEMO = (
    """{% if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}"""
    + IN_TURNS
    + """{% set asked = rest | selectattr('role', 'equalto', 'user') | list %}{{ bos_token }}
{% for m in rest %}{% if m.role == 'user' %}{% if tools and m == asked[-1] %}{{ '[AVAILABLE_TOOLS]' ~ tools | tojson ~ '[/AVAILABLE_TOOLS]' }}{% endif %}
{% if loop.last and system is defined %}{{ '[INST]' ~ system ~ '\n\n' ~ m.content ~ '[/INST]' }}{% else %}{{ '[INST]' ~ m.content ~ '[/INST]' }}{% endif %}
{% elif m.tool_calls is defined %}{{ '[TOOL_CALLS][' }}{% for c in m.tool_calls %}"""
    + NINE
    + """{{ (c.function | tojson)[:-1] ~ ', "id": "' ~ c.id ~ '"}' }}{{ ', ' if not loop.last else ']' ~ eos_token }}{% endfor %}
{% elif m.role == 'tool' %}{% if m.tool_call_id | length != 9 %}{{ raise_exception('ids have length 9') }}{% endif %}{{ '[TOOL_RESULTS]{"content": ' ~ m.content ~ ', "call_id": "' ~ m.tool_call_id ~ '"}[/TOOL_RESULTS]' }}
{% elif m.role == 'assistant' %}{{ m.content ~ eos_token }}{% else %}{{ raise_exception('only user and assistant') }}{% endif %}{% endfor %}"""
)
MISTRAL_SMALL = (
    """{% if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}{% else %}{% set system = strftime_now('%Y') %}{% set rest = messages %}{% endif %}"""
    + IN_TURNS
    + """{% set asked = rest | selectattr('role', 'equalto', 'user') | list %}{{ bos_token ~ '[SYSTEM_PROMPT]' ~ system ~ '[/SYSTEM_PROMPT]' }}
{% for m in rest %}{% if m.role == 'user' %}{% if tools is not none and m == asked[-1] %}{{ '[AVAILABLE_TOOLS]' ~ tools | tojson ~ '[/AVAILABLE_TOOLS]' }}{% endif %}{{ '[INST]' ~ m.content ~ '[/INST]' }}
{% elif m.get('tool_calls') %}{% for c in m.tool_calls %}"""
    + NINE
    + """{{ '[TOOL_CALLS]' ~ c.function.name ~ '[CALL_ID]' ~ c.id ~ '[ARGS]' ~ c.function.arguments | tojson }}{% endfor %}{{ eos_token }}
{% elif m.role == 'tool' %}{{ '[TOOL_RESULTS]' ~ m.tool_call_id ~ '[TOOL_CONTENT]' ~ m.content ~ '[/TOOL_RESULTS]' }}{% else %}{{ m.content ~ eos_token }}{% endif %}{% endfor %}"""
)
MISTRAL_V13 = MISTRAL_SMALL.replace("'[CALL_ID]' ~ c.id ~ ", "")
PHI3 = "{% for m in messages %}{{ '<|' ~ m.role ~ '|>\n' ~ m.content ~ '<|end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
# The tools are a text in the system message; calls are left out.
PHI4 = """{% for m in messages %}{{ '<|' ~ m.role ~ '|>' ~ m.content }}{% if m.role == 'system' and 'tools' in m %}{% set message = m %}{{ '<|tool|>' ~ message['tools'] ~ '<|/tool|>' }}{% endif %}<|end|>{% endfor %}
{% if add_generation_prompt %}<|assistant|>{% endif %}{# <|tool_call|> <|/tool_call|> <|tool_response|> #}"""
GEMMA = """{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{{ '<start_of_turn>' ~ ('model' if m.role == 'assistant' else m.role) ~ '\n' ~ m.content | trim ~ '<end_of_turn>\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"""
# Looks for its switches in the persona, wants the tools as texts under a name of its own, and leaves calls out.
SMOLLM3 = """{% set quiet = '<think>\n\n</think>\n' %}{% set system = messages[0].content if messages[0].role == 'system' else '' %}
{% if "/think" in system or ("/no_think" not in system and (enable_thinking is not defined or enable_thinking)) %}{% set quiet = '' %}{% endif %}
{{ '<|im_start|>system\n' ~ system }}{% for t in xml_tools or [] %}{{ '\n' ~ t | string }}{% endfor %}{% if xml_tools %}{{ '\nwrite <tool_call>\n{"name": , "arguments": }\n</tool_call>' }}{% endif %}{{ '<|im_end|>\n' }}
{% for m in messages %}{% if m.role == 'user' or m.role == 'tool' %}{{ '<|im_start|>user\n' ~ m.content ~ '<|im_end|>\n' }}
{% elif m.role == 'assistant' %}{% generation %}{{ '<|im_start|>assistant\n' ~ quiet ~ m.content.lstrip('\n') ~ '<|im_end|>\n' }}{% endgeneration %}{% endif %}{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' ~ quiet }}{% endif %}"""
# Begins every answer within a thought, whatever it is told, and leaves thoughts out of the history.
DEEPSEEK_R1 = """{% for m in messages %}{{ '<|' ~ m.role ~ '|>' ~ m.content.split('</think>')[-1] }}{% if m.role == 'assistant' %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|><think>\n' }}{% endif %}"""
# Its calls are no JSON.
QWEN3_CODER = (
    LISTED
    + "{% for m in messages %}"
    + TURN
    + "{% for c in m.tool_calls or [] %}<tool_call>\n<function={{ c.function.name }}>\n</function>\n</tool_call>{% endfor %}{% endfor %}"
    + ANSWER
)
