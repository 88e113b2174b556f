"""What is said when a call never came to a tool's own sentence: in the language of the house. Pure."""

from __future__ import annotations

from collections.abc import Mapping

_GERMAN = {
    "I can't reach my tools right now, so nothing was done. Please try again in a moment.": (
        "Ich erreiche meine Werkzeuge gerade nicht, also ist nichts geschehen. Bitte versuch es gleich noch einmal."
    ),
    "I lost my tools in the middle of that, so I can't tell whether it was done. Please check.": (
        "Mittendrin sind mir die Werkzeuge weggeblieben, also weiß ich nicht, ob es geschehen ist. Bitte sieh nach."
    ),
    "My tools don't know me, so nothing was done. I have to be set up again.": (
        "Meine Werkzeuge kennen mich nicht, also ist nichts geschehen. Ich muss neu eingerichtet werden."
    ),
    "Somebody must say yes to that first, and I can't tell to what. Nothing was done.": (
        "Dazu muss erst jemand ja sagen, und ich weiß nicht, wozu. Es ist nichts geschehen."
    ),
    "Somebody must say yes to that first, and I can't ask. Nothing was done.": (
        "Dazu muss erst jemand ja sagen, und ich kann nicht fragen. Es ist nichts geschehen."
    ),
    "That did not work, and I was not told why.": "Das hat nicht geklappt, und ich weiß nicht, warum.",
    "That took too long, so I gave it up, and I can't tell whether it was done. Please check.": (
        "Das hat zu lange gedauert, also habe ich es aufgegeben und weiß nicht, ob es geschehen ist. Bitte sieh nach."
    ),
    "That took too long, so I gave it up.": "Das hat zu lange gedauert, also habe ich es aufgegeben.",
    "The tool server answered something that I can't read, so I can't tell whether it was done.": (
        "Die Antwort konnte ich nicht lesen, also weiß ich nicht, ob es geschehen ist."
    ),
    "There is nothing to tell.": "Dazu gibt es nichts zu sagen.",
}
_SPOKEN: Mapping[str, Mapping[str, str]] = {"de": _GERMAN}


def spoken(sentence: str, language: str) -> str:
    """Return one of the connection's own sentences in a language; any other sentence, and English, as it is."""
    return _SPOKEN.get(language, {}).get(sentence, sentence)
