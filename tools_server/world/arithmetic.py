"""Work out what is said in numbers: "15 percent of 240", "the square root of 81", "(3 + 4) * 5". Pure, and bounded.

Words become signs, signs become tokens, and tokens are read by one function for each rank of operators. Nothing is
ever evaluated as a program. Numbers are exact fractions, but for roots that are none.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import isqrt, log10

from tools_server.values.number_words import ENGLISH, GERMAN

LONGEST_CHARACTERS = 200
MOST_TOKENS = 60
MOST_DIGITS = 30  # of anything on the way: more is no sum that is asked aloud
MOST_DEPTH = 20
MOST_POWER = 1000

_SMALL = ENGLISH | GERMAN | {"eine": 1, "dreissig": 30}
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_LARGE |= {"hundert": 100, "tausend": 1000, "millionen": 10**6, "milliarden": 10**9, "milliarde": 10**9}
_ALONE = ("hundert", "tausend")  # one of them
_SIGNS = (  # what is said → signs; the first that fits a place is taken
    (r"\b(?:the )?square root of\b|\b(?:die )?(?:quadrat)?wurzel (?:aus|von)\b", " sqrt "),
    (r"\b(?:the )?cube root of\b|\b(?:die )?(?:dritte|kubik)wurzel (?:aus|von)\b", " cbrt "),
    (r"\bper ?cent (?:of|von)\b|% (?:of|von)\b|\bprozent (?:of|von)\b", " % * "),
    (r"\bper ?cent off\b|% off\b", " %off "),
    (r"\bper ?cent\b|\bprozent\b", " % "),
    (r"\b(?:a |one )?(?:half|half of)(?: of)? (?=\d|an?\b)|\bthe half of\b|\bdie hälfte von\b", " 1/2 * "),
    (r"\b3 quarters of\b|\b3 viertel von\b", " 3/4 * "),
    (r"\b2 thirds of\b|\b2 drittel von\b", " 2/3 * "),
    (r"\b(?:a |one )?third of\b|\b(?:ein )?drittel von\b", " 1/3 * "),
    (r"\b(?:a |one )?quarter of\b|\b(?:ein )?viertel von\b", " 1/4 * "),
    (r"\b(?:a |one )?fifth of\b|\b(?:ein )?fünftel von\b", " 1/5 * "),
    (r"\b(?:a |one )?tenth of\b|\b(?:ein )?zehntel von\b", " 1/10 * "),
    (r"\b(?:double|twice|das doppelte von)\b", " 2 * "),
    (r"\b(?:triple|das dreifache von)\b", " 3 * "),
    (r"\b(?:to the power of|to the|hoch)\b", " ^ "),
    (r"\b(?:squared|im quadrat)\b", " ^ 2 "),
    (r"\bcubed\b", " ^ 3 "),
    (r"\b(?:multiplied by|times|mal)\b|[×x](?=\W|\d)|·", " * "),
    (r"\b(?:divided by|over|geteilt durch|durch|dividiert durch)\b|[÷:]", " / "),
    (r"\b(?:plus|added to|und)\b", " + "),
    (r"\b(?:minus|negative|less|weniger)\b", " - "),
)
_NUMBER = r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_TOKEN = re.compile(rf"\s*(?:({_NUMBER})|(%off|sqrt|cbrt|\*\*|[-+*/^%()]))")


class NoSum(ValueError):
    """The words are no sum, or one that is too large; `str()` says which: "words", "zero", "large" or "root"."""


def evaluate(text: str) -> tuple[Fraction, bool]:
    """Return what a sum comes to, and whether that is exact. Raises `NoSum`."""
    if len(text) > LONGEST_CHARACTERS:
        raise NoSum("large")
    tokens = _tokens(_signs(text))
    if len(tokens) > MOST_TOKENS:
        raise NoSum("large")
    reading = _Reading(tokens)
    value = reading.sum()
    if reading.at < len(tokens):
        raise NoSum("words")
    return value, reading.exact


def amount(text: str) -> Fraction | None:
    """Return the number that words are: "a dozen" is none, "two and a half" is; None for other words."""
    words = text.casefold().strip()
    words = re.sub(
        r"^(?:an? |ein(?:e[nmr]?)? )?(?:half|quarter|halbe[nrs]?|viertel)(?: (?:an?|of an?|eine[nmr]?))?$", _part, words
    )
    words = re.sub(r"^(\d+) (\d/\d)$", r"\1 + \2", words)
    words = re.sub(r"^(.*?)(?:,? and)? an? half$", r"\1 + 1/2", words)
    words = re.sub(r"^(.*?)(?:,? and)? an? quarter$", r"\1 + 1/4", words)
    words = {"a": "1", "an": "1", "eine": "1", "einer": "1", "einem": "1", "einen": "1", "anderthalb": "3/2"}.get(
        words, words
    )
    try:
        return evaluate(words)[0]
    except NoSum:
        return None


def _part(match: re.Match[str]) -> str:
    return "1/4" if re.search("quarter|viertel", match[0]) else "1/2"


# ── words → tokens ─────────────────────────────────────────────────────────────────────────────────


def _signs(text: str) -> str:
    words = " ".join(text.casefold().replace("−", "-").split())
    words = re.sub(r"^(?:an?|eine?) (?=\d)", "", words)
    words = re.sub(r"^(?:add|addiere) (.+?) (?:to|zu) (.+)$", r"\2 plus \1", words)
    words = re.sub(r"^(?:subtract|take|take away) (.+?) (?:from|off) (.+)$", r"\2 minus \1", words)
    words = re.sub(r"^(?:multiply|multipliziere) (.+?) (?:by|mit) (.+)$", r"\1 times \2", words)
    words = re.sub(r"^(?:divide|teile) (.+?) (?:by|durch) (.+)$", r"\1 / \2", words)
    words = re.sub(r"\btake away\b", "minus", words)
    words = re.sub(r"\b(\d+) and an? half\b(?! of)", r"( \1 + 1/2 )", _written_out(words))
    for pattern, signs in _SIGNS:
        words = re.sub(pattern, signs, words)
    return words


def _written_out(text: str) -> str:
    """Return the text with every number that is written out as digits: "two hundred and five point five" → "205.5"."""
    made: list[str] = []
    words = re.sub(r"(?<=[a-zäöüß])-(?=[a-z])", " ", text).split()
    at = 0
    while at < len(words):
        end, value = _number_at(words, at)
        if end == at:
            made.append(words[at])
            at += 1
            continue
        digits = str(value)
        if end < len(words) and words[end] in ("point", "komma"):
            behind = end + 1
            while behind < len(words) and (_SMALL.get(words[behind], 10) < 10 or re.fullmatch(r"\d", words[behind])):
                behind += 1
            if behind > end + 1:
                digits += "." + "".join(str(_SMALL.get(word, word)) for word in words[end + 1 : behind])
                end = behind
        made.append(digits)
        at = end
    return " ".join(made)


def _number_at(words: list[str], at: int) -> tuple[int, int]:
    """Return where a number that begins at a word ends, and the number; the same place when there is none."""
    total, group, end = 0, 0, at
    if at + 1 < len(words) and words[at] == "a" and words[at + 1] in _LARGE:
        group, end = 1, at + 1
    if words[at] in _ALONE:
        total, group, end = (0, 100, at + 1) if words[at] == "hundert" else (1000, 0, at + 1)
    while end < len(words):
        word = words[end]
        if word in _SMALL and (group % 100 == 0 or (group % 100 in range(20, 100, 10) and _SMALL[word] < 10)):
            group += _SMALL[word]
        elif re.fullmatch(r"\d+", word) and end + 1 < len(words) and words[end + 1] in _LARGE and not group:
            group = int(word)
        elif re.fullmatch(r"\d{1,2}", word) and end > at and group % 100 == 0 and words[end - 1] in (*_LARGE, "and"):
            group += int(word)  # "3 hundred 50"
        elif word in _LARGE and end > at:
            scale, last = _LARGE[word], _LARGE.get(words[end - 1], 0)
            if scale == 100 and group < 100:
                group = (group or int(last > 0)) * 100
            elif 100 < last <= scale:  # "a thousand million"
                total *= scale
            elif scale > 100 and last <= 100 and (total < scale or total % (1000 * scale) == 0):
                total = (total + group) * scale if total < scale else total + group * scale
                group = 0
            else:
                break
        elif (
            word == "and"
            and end > at
            and words[end - 1] in _LARGE
            and words[end + 1 : end + 2]
            and (words[end + 1] in _SMALL or re.fullmatch(r"\d{1,2}", words[end + 1]))
        ):
            pass
        else:
            break
        end += 1
    return end, total + group


def _tokens(signs: str) -> list[str]:
    tokens, at = [], 0
    signs = signs.strip()
    while at < len(signs):
        match = _TOKEN.match(signs, at)
        if match is None:
            raise NoSum("words")
        tokens.append((match[1] or match[2]).replace(",", "").replace("**", "^"))
        at = match.end()
    if not tokens:
        raise NoSum("words")
    return tokens


# ── tokens → a number ──────────────────────────────────────────────────────────────────────────────


class _Reading:
    """One walk over the tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.exact = True
        self.depth = 0

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._next()
        self.at += 1
        return token

    def sum(self) -> Fraction:
        """Read products that are added; "50 plus 20 percent" is a fifth more."""
        value = self.product()
        while self._next() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            before = self.at
            more = self.product()
            whole_percent = self.tokens[self.at - 1] == "%" and self.at - before == 2
            value = _bounded(value + sign * (more * value if whole_percent else more))
        return value

    def product(self) -> Fraction:
        """Read powers that are multiplied and divided."""
        value = self.power()
        while self._next() in ("*", "/", "%off"):
            match self._take():
                case "*":
                    value = _bounded(value * self.power())
                case "%off":
                    value = _bounded(self.power() * (1 - value / 100))
                case _:
                    by = self.power()
                    if not by:
                        raise NoSum("zero")
                    value = _bounded(value / by)
        return value

    def power(self) -> Fraction:
        """Read a number with its power, from the right."""
        value = self.single()
        if self._next() != "^":
            return value
        self._take()
        exponent = self.power()
        digits = abs(float(exponent)) * abs(log10(float(abs(value)))) if value else 0
        if digits > MOST_DIGITS or abs(exponent) > MOST_POWER:
            raise NoSum("large")
        if not value and exponent < 0:
            raise NoSum("zero")
        if exponent.denominator != 1:
            return self._rounded(float(value) ** float(exponent)) if value >= 0 else _no_root()
        return _bounded(value ** int(exponent))

    def single(self) -> Fraction:
        """Read one number, a root, or what stands in brackets; then percent signs."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise NoSum("large")
        sign = self._take()
        if sign in ("-", "+"):
            value = self.power() * (-1 if sign == "-" else 1)
        elif sign == "(":
            value = self.sum()
            if self._take() != ")":
                raise NoSum("words")
        elif sign in ("sqrt", "cbrt"):
            value = self._root(self.power(), 2 if sign == "sqrt" else 3)
        elif sign[:1].isdigit():
            value = _bounded(Fraction(sign))
        else:
            raise NoSum("words")
        while self._next() == "%":
            self._take()
            value /= 100
        self.depth -= 1
        return value

    def _root(self, value: Fraction, degree: int) -> Fraction:
        if value < 0:
            _no_root()
        parts = [_whole_root(part, degree) for part in (value.numerator, value.denominator)]
        if all(part is not None for part in parts):
            return Fraction(parts[0] or 0, parts[1] or 1)
        return self._rounded(float(value) ** (1 / degree))

    def _rounded(self, value: float) -> Fraction:
        self.exact = False
        return _bounded(Fraction(value))


def _whole_root(value: int, degree: int) -> int | None:
    near = isqrt(value) if degree == 2 else round(value ** (1 / 3))
    return near if near**degree == value else None


def _no_root() -> Fraction:
    raise NoSum("root")


def _bounded(value: Fraction) -> Fraction:
    if abs(value) >= 10**MOST_DIGITS or value.denominator >= 10**MOST_DIGITS * 10**MOST_DIGITS:
        raise NoSum("large")
    return value
