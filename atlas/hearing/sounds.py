"""Words → phonemes, and how easily one phoneme is taken for another.

Phonemes are espeak's, by the phonemizer inside Piper, one word at a time and without stress, so that the words of a
reading and those of a grammar are cut alike. The weights follow articulation: vowels by height, backness and rounding,
consonants by voice, place and manner; what recognisers drop or add most, such as a schwa or a "t", costs least.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np
from numpy.typing import NDArray
from piper.phonemize_espeak import EspeakPhonemizer

from atlas.speech.espeak import ONE_AT_A_TIME

Floats = NDArray[np.float32]

VOWELS = {  # phoneme → height 0 (open) to 1, backness 0 (front) to 1, whether rounded
    "i": (1.0, 0.0, 0), "y": (1.0, 0.0, 1), "ɪ": (0.8, 0.15, 0), "ʏ": (0.8, 0.15, 1), "e": (0.66, 0.0, 0),
    "ø": (0.66, 0.0, 1), "ɛ": (0.4, 0.1, 0), "œ": (0.4, 0.1, 1), "æ": (0.15, 0.1, 0), "a": (0.0, 0.3, 0),
    "ɐ": (0.25, 0.5, 0), "ə": (0.5, 0.5, 0), "ᵻ": (0.8, 0.4, 0), "ɜ": (0.45, 0.5, 0), "ɚ": (0.5, 0.5, 0),
    "ʌ": (0.35, 0.75, 0), "ɑ": (0.0, 0.9, 0), "ɒ": (0.05, 0.95, 1), "ɔ": (0.35, 0.95, 1), "o": (0.66, 1.0, 1),
    "ʊ": (0.8, 0.85, 1), "u": (1.0, 1.0, 1),
}  # fmt: skip
CONSONANTS = {  # phoneme → voiced, place 0 (lips) to 1 (throat), manner
    "p": (0, 0.0, "stop"), "b": (1, 0.0, "stop"), "t": (0, 0.4, "stop"), "d": (1, 0.4, "stop"),
    "k": (0, 0.8, "stop"), "ɡ": (1, 0.8, "stop"), "ʔ": (0, 1.0, "stop"), "ɾ": (1, 0.4, "stop"),
    "f": (0, 0.1, "hiss"), "v": (1, 0.1, "hiss"), "θ": (0, 0.3, "hiss"), "ð": (1, 0.3, "hiss"),
    "s": (0, 0.4, "hiss"), "z": (1, 0.4, "hiss"), "ʃ": (0, 0.55, "hiss"), "ʒ": (1, 0.55, "hiss"),
    "ç": (0, 0.65, "hiss"), "x": (0, 0.8, "hiss"), "h": (0, 1.0, "hiss"), "m": (1, 0.0, "nose"),
    "n": (1, 0.4, "nose"), "ŋ": (1, 0.8, "nose"), "l": (1, 0.4, "glide"), "ɫ": (1, 0.5, "glide"),
    "ɹ": (1, 0.5, "glide"), "r": (1, 0.45, "glide"), "ʁ": (1, 0.9, "glide"), "w": (1, 0.1, "glide"),
    "j": (1, 0.65, "glide"),
}  # fmt: skip
ALIKE = {  # what is nearly one sound, though it is written by two
    ("ɚ", "ɹ"): 0.3, ("ɜ", "ɹ"): 0.4, ("w", "u"): 0.35, ("w", "ʊ"): 0.35, ("j", "i"): 0.35, ("j", "ɪ"): 0.4,
    ("l", "ʊ"): 0.5, ("l", "o"): 0.5, ("ɾ", "t"): 0.05, ("ɾ", "d"): 0.05,
    ("ɫ", "l"): 0.05, ("ə", "ɐ"): 0.05, ("ə", "ᵻ"): 0.05,
    ("ɪ", "ᵻ"): 0.05, ("ə", "ʌ"): 0.1, ("ə", "ɪ"): 0.2, ("ɑ", "ɔ"): 0.1, ("ɑ", "ɒ"): 0.05, ("r", "ɹ"): 0.05,
    ("ɔ", "o"): 0.2, ("ʃ", "s"): 0.3, ("ʒ", "ʃ"): 0.2, ("m", "n"): 0.25, ("θ", "f"): 0.2, ("ð", "d"): 0.3,
    ("ð", "v"): 0.25, ("θ", "s"): 0.35, ("θ", "t"): 0.35, ("n", "ŋ"): 0.2,
}  # fmt: skip
LONE = {  # what one phoneme too many or too few costs, where it is not as much as the others of its kind
    "ə": 0.35, "ɐ": 0.35, "ᵻ": 0.35, "ɪ": 0.45, "h": 0.4, "ʔ": 0.3, "t": 0.5, "d": 0.5, "ɹ": 0.5, "ɚ": 0.5, "ʊ": 0.45,
    "n": 0.6, "j": 0.45, "ð": 0.55, "s": 0.7, "z": 0.6,
}  # fmt: skip
LONE_VOWEL, LONE_CONSONANT = 0.6, 0.75
ACROSS = 1.2  # a vowel for a consonant
MOST_WORDS = 50_000  # whose sounds are remembered
FAR = 1.0  # a phoneme of another alphabet

_PHONEMES = [*VOWELS, *CONSONANTS, "?"]
NUMBER_OF = {phoneme: number for number, phoneme in enumerate(_PHONEMES)}
UNKNOWN = NUMBER_OF["?"]
_NO_PHONEME = re.compile(r"[\sˈˌːˑʲ.,:;!?\-'\"()‿|]|\([^)]*\)")


class Sounds:
    """The sounds of one language's words, by espeak's name of a voice: "en-us", "de"."""

    def __init__(self, voice: str) -> None:
        self._voice = voice
        with ONE_AT_A_TIME:  # it sets up the library anew, for the whole process
            self._espeak = EspeakPhonemizer()
        self._known: dict[str, tuple[int, ...]] = {}

    def of(self, words: str) -> tuple[int, ...]:
        """Return the phonemes of `words`, as numbers. A word that is new costs a tenth of a millisecond."""
        return tuple(number for word in words.lower().split() for number in self.of_word(word))

    def of_word(self, word: str) -> tuple[int, ...]:
        """Return the phonemes of one word."""
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= MOST_WORDS:
                self._known.clear()  # names of a house and its grammar are far fewer
            known = self._known[word] = self._spoken(word)
        return known

    def _spoken(self, word: str) -> tuple[int, ...]:
        plain = "".join(c if c.isprintable() else " " for c in word).replace("[[", "[")
        if not any(c.isalnum() for c in plain):
            return ()
        weak = WEAK.get(self._voice, {})
        if plain in weak:
            phonemes = weak[plain]
        else:
            with ONE_AT_A_TIME:
                phonemes = "".join("".join(sentence) for sentence in self._espeak.phonemize(self._voice, plain))
        letters = _NO_PHONEME.sub("", unicodedata.normalize("NFC", phonemes))
        return tuple(NUMBER_OF.get(c, UNKNOWN) for c in letters if not unicodedata.combining(c))


WEAK = {"en-us": {"a": "ɐ", "the": "ðə", "i": "aɪ"}}  # as they are said in a sentence, and not by themselves


def _between(one: str, other: str) -> float:
    """Return what it costs to take one phoneme for another: 0 to `ACROSS`."""
    if one == other:
        return 0.0
    if (alike := ALIKE.get((one, other), ALIKE.get((other, one)))) is not None:
        return alike
    if "?" in (one, other):
        return FAR
    if one in VOWELS and other in VOWELS:
        (height, back, round_), (height2, back2, round2) = VOWELS[one], VOWELS[other]
        return 0.12 + 0.45 * abs(height - height2) + 0.35 * abs(back - back2) + 0.08 * (round_ != round2)
    if one in CONSONANTS and other in CONSONANTS:
        (voiced, place, manner), (voiced2, place2, manner2) = CONSONANTS[one], CONSONANTS[other]
        return min(FAR, 0.2 * (voiced != voiced2) + 0.15 + 0.7 * abs(place - place2) + 0.4 * (manner != manner2))
    return ACROSS


SWAP: Floats = np.array([[_between(one, other) for other in _PHONEMES] for one in _PHONEMES], np.float32)
SWAP.setflags(write=False)
ALONE: Floats = np.array(
    [LONE.get(one, LONE_VOWEL if one in VOWELS else LONE_CONSONANT) for one in _PHONEMES], np.float32
)
ALONE.setflags(write=False)
