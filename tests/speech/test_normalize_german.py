"""What is written in German, and how it is read aloud."""

from __future__ import annotations

from contextvars import copy_context

from hypothesis import given
from hypothesis import strategies as st

from atlas import own_words
from atlas.speech.normalize import spoken
from tests.conftest import done_within, for_every

TABLE = {
    # times and dates
    "Um 7:30.": "Um 7 Uhr 30.",
    "Um 7:05 Uhr.": "Um 7 Uhr 5.",
    "Um 19:00 Uhr.": "Um 19 Uhr.",
    "Um 7.30 Uhr.": "Um 7 Uhr 30.",
    "Es ist 1 Uhr 15.": "Es ist ein Uhr 15.",
    "Im Verhältnis 3:1.": "Im Verhältnis 3:1.",
    "Es ist Sonntag, 22. November 2026.": "Es ist Sonntag, zweiundzwanzigster November 2026.",
    "Dienstag, 1. Dezember": "Dienstag, erster Dezember",
    "Ich erinnere dich am 3. Mai um 10 Uhr.": "Ich erinnere dich am dritten Mai um 10 Uhr.",
    "Der 3. Oktober ist ein Feiertag.": "Der dritte Oktober ist ein Feiertag.",
    "Am 24.12.2026": "Am vierundzwanzigsten Dezember 2026",
    "Bis zum 31.12.": "Bis zum einunddreißigsten Dezember",
    "2026-12-24": "vierundzwanzigster Dezember 2026",
    "bis zum 1.": "bis zum ersten",
    "jeden Monat am 7.": "jeden Monat am siebten",
    "das 8. Mal": "das achte Mal",
    "im Jahr 1985": "im Jahr 19 hundert 85",
    "seit 1900": "seit 19 hundert",
    "1850 Schritte": "1850 Schritte",
    # one of a thing
    "Timer gestellt auf 1 Minute.": "Timer gestellt auf eine Minute.",
    "In 1 Minute: die Lampe ausschalten.": "In einer Minute: die Lampe ausschalten.",
    "vor 1 Tag": "vor einem Tag",
    "noch 1 Tag": "noch einen Tag",
    "Du hast 1 Termin.": "Du hast einen Termin.",
    "Es gibt 1 Erinnerung: Müll.": "Es gibt eine Erinnerung: Müll.",
    "Auf der Einkaufsliste steht 1 Ding: Milch.": "Auf der Einkaufsliste steht ein Ding: Milch.",
    "Lampe 1 ist an.": "Lampe 1 ist an.",
    "21 Minuten": "21 Minuten",
    # numbers to call
    "Ruf jetzt 112 oder 110 an.": "Ruf jetzt 1 1 2 oder 1 1 0 an.",
    "Tag und Nacht unter 116 123.": "Tag und Nacht unter 1 1 6, 1 2 3.",
    "Der Giftnotruf ist 030 19240.": "Der Giftnotruf ist 0 3 0, 1 9 2 4 0.",
    "112 Gramm": "112 Gramm",
    # money, units, numbers
    "Das kostet 3,50 €.": "Das kostet 3 Euro 50.",
    "1 €, € 20": "ein Euro, 20 Euro",
    "-5 °C": "minus 5 Grad",
    "Es sind 21,5 Grad.": "Es sind 21,5 Grad.",
    "20 km/h": "20 Kilometer pro Stunde",
    "5 km, 3 kg, 250 ml": "5 Kilometer, 3 Kilogramm, 250 Milliliter",
    "2 h 30 min": "2 Stunden 30 Minuten",
    "1 h": "eine Stunde",
    "3,2 kWh": "3,2 Kilowattstunden",
    "50 %": "50 Prozent",
    "10–15 Minuten": "10 bis 15 Minuten",
    "1.221,5 Meter": "1.221,5 Meter",
    "1 1/2 Tassen": "eineinhalb Tassen",
    "2½ Stunden": "zweieinhalb Stunden",
    "3/4": "drei Viertel",
    "7/9": "7 durch 9",
    "~5": "etwa 5",
    "~1 kg Mehl": "etwa ein Kilogramm Mehl",
    "5 × 3": "5 mal 3",
    # words
    "Obst, z. B. Äpfel": "Obst, zum Beispiel Äpfel",
    "Äpfel, Birnen usw.": "Äpfel, Birnen und so weiter.",
    "ca. 5 Minuten bzw. mehr": "etwa 5 Minuten beziehungsweise mehr",
    "Dr. Braun, Hauptstr. 5": "Doktor Braun, Hauptstraße 5",
    "Nr. 5": "Nummer 5",
    "Mail an a.b@example.de!": "Mail an a Punkt b ät example Punkt de!",
    "Siehe https://www.example.de/a?b=c.": "Siehe example Punkt de.",
    # what is alike in every language
    "**Fett** und `Code`": "Fett und Code",
    "1. Milch\n2. Brot": "1. Milch. 2. Brot",
    "Schön! 🎉": "Schön!",
    "": "",
}


@for_every(("written", "heard"), TABLE.items())
def test_it_is_read_aloud_as_a_german_would(written: str, heard: str) -> None:
    assert spoken(written, "de") == heard


def test_a_german_house_reads_german_without_being_told() -> None:
    def heard() -> str:
        own_words.speaks("de")
        return spoken("Am 3. Mai:\n```\nx = 1\n```")

    assert copy_context().run(heard) == "Am dritten Mai: Den Programmtext lasse ich weg."
    assert spoken("The 3. May") == "The 3. May"


@given(st.text(alphabet="1 :./-,$€%*_`[]()#a'mUhr½", max_size=200))
def test_odd_signs_do_not_trouble_it(text: str) -> None:
    sentence = spoken(text, "de")
    assert not set("*_`[]#") & set(sentence)
    assert sentence == sentence.strip()


@for_every("text", ["1. " * 20_000, "1/" * 20_000, "0123 " * 20_000, "1," * 20_000, "am 1" * 20_000])
def test_a_long_line_of_nonsense_is_no_attack(text: str) -> None:
    with done_within(processor_seconds=5):
        spoken(text, "de")
