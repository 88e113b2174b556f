"""What is written, and how it is read aloud."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atlas.speech.normalize import CODE, spoken
from tests.conftest import done_within, for_every

TABLE = {
    # times
    "It is 9:30.": "It is 9 30.",
    "It is 9:05 now.": "It is 9 oh 5 now.",
    "At 7:00 am sharp.": "At 7 AM sharp.",
    "At 9:00.": "At 9 o'clock.",
    "It is 14:05.": "It is 2 oh 5 PM.",
    "It is 00:15.": "It is 12 15 AM.",
    "It is 12:30.": "It is 12 30.",
    "It's 9.30 pm.": "It's 9 30 PM.",
    "At 5 p.m. on Friday.": "At 5 PM on Friday.",
    "At 3pm.": "At 3 PM.",
    "Call at 5 p.m.": "Call at 5 PM.",
    "A ratio of 3:1.": "A ratio of 3:1.",
    "Lap 1:02:33.": "Lap 1:02:33.",
    # dates
    "On 2026-11-21.": "On November 21st, 20 26.",
    "On 21/11/2026.": "On November 21st, 20 26.",
    "On 11/21/2026.": "On November 21st, 20 26.",
    "On 5/6/2026.": "On 5, 6, 20 26.",
    "May 5, 2026": "May 5th, 20 26",
    "Nov 3": "November 3rd",
    "May I go?": "May I go?",
    "In 1999 and in 2005.": "In 19 99 and in 2005.",
    "in 1905": "in 19 oh 5",
    "in 1900": "in 19 hundred",
    "November 2026": "November 20 26",
    "2026 people": "2026 people",
    # money
    "It costs $3.50.": "It costs 3 dollars and 50 cents.",
    "Only $1.": "Only 1 dollar.",
    "£20": "20 pounds",
    "£0.01": "1 penny",
    "€1,250.99": "1,250 euros and 99 cents",
    "$5 million": "5 million dollars",
    "$1.5k": "1.5 thousand dollars",
    "£20, €1,250.99": "20 pounds, 1,250 euros and 99 cents",
    "5 km, 3 kg": "5 kilometers, 3 kilograms",
    "¥500": "500 yen",
    # units
    "It is 20°C.": "It is 20 degrees Celsius.",
    "68 °F": "68 degrees Fahrenheit",
    "It is -5°C": "It is minus 5 degrees Celsius",
    "1°": "1 degree",
    "50%": "50 percent",
    "5 km": "5 kilometers",
    "1 km": "1 kilometer",
    "10 km/h": "10 kilometers per hour",
    "100 m²": "100 square meters",
    "250 ml": "250 milliliters",
    "3kg": "3 kilograms",
    "10 min": "10 minutes",
    "1h 30m": "1 hour 30 minutes",
    "2h 1min": "2 hours 1 minute",
    "10GB": "10 gigabytes",
    "5'10\"": "5 feet 10 inches",
    "I am in 5 minutes there.": "I am in 5 minutes there.",
    "5G is fast.": "5G is fast.",
    # numbers
    "10-15 minutes": "10 to 15 minutes",
    "5–10%": "5 to 10 percent",
    "1/2 cup": "one half cup",
    "2 1/2 cups": "2 and a half cups",
    "½ cup": "one half cup",
    "1½ cups": "1 and a half cups",
    "24/7": "24 7",
    "7/9": "7 over 9",
    "3.14 and 1,000,000": "3.14 and 1,000,000",
    "the 1st and 22nd": "the 1st and 22nd",
    "~5": "about 5",
    "5 × 3": "5 times 3",
    "x < y": "x less than y",
    "a temperature of -3": "a temperature of minus 3",
    "Call 555-1234.": "Call 5 5 5, 1 2 3 4.",
    "+1 (555) 123-4567": "1, 5 5 5, 1 2 3, 4 5 6 7",
    "192.168.1.1": "192 dot 168 dot 1 dot 1",
    "#5": "number 5",
    "No. 5": "number 5",
    # words
    "Mr. Smith and Dr. Jones": "Mister Smith and Doctor Jones",
    "fruit, e.g. apples": "fruit, for example apples",
    "pears, etc.": "pears, et cetera.",
    "and/or": "and or",
    "C#": "C sharp",
    "w/o sugar": "without sugar",
    # addresses
    "See https://www.example.com/a?b=c.": "See example dot com.",
    "See www.example.com/x now": "See example dot com now",
    "Mail a.b@example.com!": "Mail a dot b at example dot com!",
    # markdown
    "**Bold** and *soft* and `code` and ~~gone~~": "Bold and soft and code and gone",
    "# Title\nText": "Title. Text",
    "One.\n\nTwo\n \nThree": "One. Two. Three",
    "- Milk\n- Bread": "Milk. Bread",
    "1. Milk\n2. Bread": "1. Milk. 2. Bread",
    "- [x] Done": "Done",
    "[Atlas](https://example.com/x) is here": "Atlas is here",
    "![A cat](cat.png)": "A cat",
    "> quoted": "quoted",
    "a <b>word</b>": "a word",
    "As shown [1].": "As shown.",
    "| a | b |\n|---|---|\n| 1 | 2 |": "a, b. 1, 2",
    "Try:\n```python\nprint(1)\n```\nDone.": f"Try: {CODE} Done.",
    "```\nunfinished": CODE,
    "Try:\n~~~json\n{}\n~~~\nDone.": f"Try: {CODE} Done.",
    "snake_case and 2 * 3": "snake case and 2 3",
    "---": "",
    # pictures and nothing
    "Great! 🎉👍🏽": "Great!",
    "Sunny ☀️ today": "Sunny today",
    "→ next": "next",
    "": "",
    "...": "",
    "🎉": "",
    "* * *": "",
    "Hello,   world": "Hello, world",
    "zero\u200bwidth\x07": "zero width",
}


@for_every(("written", "heard"), TABLE.items())
def test_it_is_read_aloud_as_a_person_would(written, heard):
    assert spoken(written) == heard


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    sentence = spoken(text)
    assert "\n" not in sentence
    assert sentence == sentence.strip()


@given(st.text(alphabet="1 :./-,$%*_`[]()#a'\"m", max_size=200))
def test_odd_signs_do_not_trouble_it(text):
    assert not set("*_`[]#") & set(spoken(text))


@for_every("text", ["*" * 20_000, "[" * 20_000, "1/" * 20_000, "a." * 20_000 + "@", "```" * 9_999, "1," * 20_000])
def test_a_long_line_of_nonsense_is_no_attack(text):
    with done_within(processor_seconds=5):
        spoken(text)
