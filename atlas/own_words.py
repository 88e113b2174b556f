"""The house's own sentences, in the language it speaks; in English where nobody wrote one.

A sentence stands in English where it is said, and its twin stands here; a test holds that none lacks one. Which
language it is, the opening of the house says once (`speaks`); whatever runs in that house inherits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

_language: ContextVar[str] = ContextVar("language", default="en")
_GERMAN = {
    # what went wrong, of errors.py and of those who raise them
    "Something went wrong.": "Da ist etwas schiefgegangen.",
    "My settings have a mistake in them.": "In meinen Einstellungen ist ein Fehler.",
    "A part of me isn't working right now.": "Ein Teil von mir geht gerade nicht.",
    "I lost my train of thought. Please ask me again in a moment.": (
        "Ich habe den Faden verloren. Bitte frag mich gleich noch einmal."
    ),
    "I have too much to think about right now. Please ask me again in a moment.": (
        "Ich habe gerade zu viel zu überlegen. Bitte frag mich gleich noch einmal."
    ),
    "That is more than I can think about at once. Please say it in fewer words.": (
        "Das ist mir zu viel auf einmal. Sag es bitte kürzer."
    ),
    "I can't get at my memory right now.": "Ich komme gerade nicht an mein Gedächtnis.",
    "I couldn't make sense of that sound.": "Mit dieser Aufnahme kann ich nichts anfangen.",
    "I didn't understand that request.": "Diese Anfrage habe ich nicht verstanden.",
    "That is too much at once.": "Das ist zu viel auf einmal.",
    "The model that makes vectors is away just now. Please ask again in a moment.": (
        "Das Modell für Vektoren ist gerade nicht da. Bitte frag gleich noch einmal."
    ),
    "I don't know anybody by that name.": "So heißt hier niemand, den ich kenne.",
    "I'm sorry, the {name} agent isn't for you.": "Der Agent {name} ist leider nicht für dich da.",
    "I'm sorry, I may not talk with you.": "Mit dir darf ich leider nicht sprechen.",
    "I can't hear words right now.": "Ich kann gerade nichts verstehen.",
    "I didn't catch that.": "Das habe ich nicht verstanden.",
    "I didn't hear anything.": "Ich habe nichts gehört.",
    "That recording is too long for me.": "Diese Aufnahme ist mir zu lang.",
    "I've lost my voice.": "Ich habe meine Stimme verloren.",
    "I've lost my voice for a moment.": "Mir ist kurz die Stimme weggeblieben.",
    "I've left out the code.": "Den Programmtext lasse ich weg.",
    # of minds
    "I can't do that: I have no tool for it.": "Das kann ich nicht: Mir fehlt dafür ein Werkzeug.",
    "The other one needs a yes of its own; please ask me for it again.": (
        "Das andere braucht ein eigenes Ja; bitte sag es mir noch einmal."
    ),
    "One thing at a time. ": "Eins nach dem anderen. ",
    "I haven't enough memory for that and for my tools at once, so nothing was done.": (
        "Dafür und für meine Werkzeuge zugleich reicht mein Speicher nicht, also ist nichts geschehen."
    ),
    "I'm sorry, I have no answer to that.": "Darauf habe ich leider keine Antwort.",
    "I couldn't work out how to do that, so nothing was done.": (
        "Ich weiß nicht, wie ich das machen soll, also ist nichts geschehen."
    ),
    "I can't look that up.": "Das kann ich nicht nachsehen.",
    # where a call never came to a tool's own sentence
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
_OWN: Mapping[str, Mapping[str, str]] = {"de": _GERMAN}


def speaks(language: str) -> None:
    """Have everything that runs from here on speak a language."""
    _language.set(language)


def language() -> str:
    """Return the language that is spoken here, such as "de"."""
    return _language.get()


def own(sentence: str, spoken: str = "") -> str:
    """Return one of the house's own sentences as the house says it; any other sentence as it is."""
    return _OWN.get(spoken or _language.get(), {}).get(sentence, sentence)
