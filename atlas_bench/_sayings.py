"""What is said to a house and beside it, for hearing it: commands by pattern over a house's names, and other talk."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from atlas.understanding.names import NamedDevice, NamedPlace, Names

ROOMS = ("kitchen", "living room", "bedroom", "bathroom", "office", "hall")
LIGHTS = ("ceiling light", "reading lamp", "desk lamp", "bedside lamp", "garden lights")
PLUGS = ("kettle", "coffee machine", "fan", "television", "fairy lights")
DOORS = ("front door", "back door", "garage door")
HOUSE = Names(
    devices=(
        *(NamedDevice(name, "light", room) for name, room in zip(LIGHTS, ("living room", *ROOMS[1:5]), strict=True)),
        *(NamedDevice(f"{room} light", "light", room) for room in ROOMS),
        *(NamedDevice(name, "switch", "kitchen") for name in PLUGS),
        *(NamedDevice(f"{room} blind", "cover", room, "blind") for room in ROOMS[:3]),
        *(NamedDevice(name, "lock", "hall") for name in DOORS),
        *(NamedDevice(f"{room} heating", "climate", room) for room in ROOMS[:4]),
        NamedDevice("radio", "media", "kitchen"),
        NamedDevice("robot", "vacuum", "hall"),
    ),
    rooms=tuple(NamedPlace(room) for room in ROOMS),
    people=("Anna", "Ben", "Mia", "Tom"),
    lists=("shopping", "camping"),
)
PATTERNS = (  # a place in braces is filled with one of those below
    *("turn on the {light}", "turn off the {light}", "switch the {light} off", "turn on the lights in the {room}"),
    *("lights off in the {room}", "turn off all the lights", "turn on the {plug}", "switch off the {plug}"),
    *("dim the {light} to {percent} percent", "set the {light} to {percent} percent", "make the {light} {colour}"),
    *("open the {room3} blind", "close the {room3} blind", "lock the {door}", "unlock the {door}"),
    *("set the heating in the {room4} to {degrees} degrees", "is the {door} locked", "is the {light} on"),
    *("set a timer for {minutes} minutes", "set a {minutes} minute timer", "start a timer for {minutes} minutes"),
    *("cancel the timer", "cancel all timers", "pause the timer", "how much time is left on the timer"),
    *("add {minutes} minutes to the timer", "set a timer for an hour and {minutes} minutes"),
    *("set an alarm for {hour} o'clock", "wake me up at {hour} thirty tomorrow", "cancel my alarm"),
    *("remind me to take out the rubbish at {hour}", "remind me tomorrow to call the bank"),
    *("add {thing} to my shopping list", "put {thing} on the shopping list", "what is on my shopping list"),
    *("what time is it", "what day is it today", "what's the weather like tomorrow", "will it rain tomorrow"),
    *("what is on my calendar today", "turn up the volume", "set the volume to {percent} percent", "pause the music"),
    *("start the robot", "flip a coin", "what is {minutes} times {hour}", "when is sunset"),
)
FILLS: dict[str, Sequence[str]] = {
    "light": (*LIGHTS, *(f"{room} light" for room in ROOMS)),
    "plug": PLUGS,
    "room": ROOMS,
    "room3": ROOMS[:3],
    "room4": ROOMS[:4],
    "door": DOORS,
    "percent": ("ten", "twenty", "thirty five", "fifty", "seventy five", "ninety"),
    "colour": ("red", "blue", "green", "warm white"),
    "degrees": ("eighteen", "nineteen", "twenty one", "twenty three"),
    "minutes": ("three", "five", "eight", "ten", "fifteen", "twenty five", "forty", "fifty"),
    "hour": ("six", "seven", "eight", "nine", "ten", "eleven"),
    "thing": ("milk", "bread", "eggs", "olive oil", "washing powder", "bananas"),
}
TALK = (
    *("did you see what {who} was wearing", "I think {who} left {thing} in the car", "where did I leave my keys"),
    *("{who} said she would be {late}", "that was the best film I have seen in years", "{who}, come and set the table"),
    *("the match starts {late}", "they want to build a new road behind the school", "I have no idea what he meant"),
    *("and now the news at {hour}", "prices have gone up again this year", "{who}, have you done your homework"),
    *("you should have turned left at the lights", "my sister is coming to stay with us", "I can't find {thing}"),
    *("we had {thing} for breakfast", "don't forget your coat {who}", "he never closes the door behind him"),
    *("she told me to turn it down and I did", "let's go for a walk {late}", "what a lovely day it was"),
    *("the bus was {late}", "could you pass me {thing}", "I was going to say the same thing"),
    *("who do you think will win", "{who} is better at this than me", "it's too far to walk from here"),
    *("that programme is on again", "he opened the window and looked out", "next up, the traffic and travel"),
)
TALK_FILLS: dict[str, Sequence[str]] = {
    "who": ("Anna", "Ben", "your mother", "the neighbour", "Mister Brown"),
    "thing": ("the bread", "some oranges", "her umbrella", "the red box"),
    "late": ("later", "after dinner", "in the evening", "too early", "on Saturday"),
    "hour": ("six", "ten"),
}


def commands(count: int) -> list[str]:
    """Return so many different commands, of every pattern about as many."""
    return _sayings(PATTERNS, FILLS, count)


def talk(count: int) -> list[str]:
    """Return so many sentences that nobody says to a house."""
    return _sayings(TALK, TALK_FILLS, count)


def _sayings(patterns: Sequence[str], fills: dict[str, Sequence[str]], count: int) -> list[str]:
    dice = random.Random(20)
    sayings = dict.fromkeys(text for _ in range(40) for text in _filled(patterns, fills, dice))
    return list(sayings)[:count]


def _filled(patterns: Sequence[str], fills: dict[str, Sequence[str]], dice: random.Random) -> Iterator[str]:
    for pattern in patterns:
        yield pattern.format(**{name: dice.choice(values) for name, values in fills.items()})
