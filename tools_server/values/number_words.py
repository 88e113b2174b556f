"""The words for whole numbers below a hundred, as people say them. Pure."""

from __future__ import annotations

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_DE_ONES = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn"
    " achtzehn neunzehn"
)
_DE_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"


def _numbered(ones: str, tens: str) -> dict[str, int]:
    return {word: n for n, word in enumerate(ones.split())} | dict(zip(tens.split(), range(20, 100, 10), strict=True))


ENGLISH = _numbered(_ONES, _TENS)  # compounds are two words
GERMAN = _numbered(_DE_ONES, _DE_TENS)
GERMAN |= {f"{one}und{ten}": n + m for one, n in GERMAN.items() if 0 < n < 10 for ten, m in GERMAN.items() if m >= 20}
GERMAN |= {"eins": 1, "zwo": 2}
