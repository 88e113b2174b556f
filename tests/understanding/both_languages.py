"""What a sentence means to the English house of these tests, or to the German one."""

from __future__ import annotations

from atlas.understanding.understanding import Understanding
from tests.understanding import test_exemptions as english
from tests.understanding import test_german_wishes as german

HOUSES = {"en": english.meant, "de": german.meant}


def meant(text: str, language: str) -> Understanding:
    return HOUSES[language](text)
