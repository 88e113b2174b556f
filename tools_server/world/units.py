"""Units that people say, and what one is in another. Pure.

A unit is so many of the first of its kind. What is called a pint, a gallon, an ounce of water, a cup or a mile to the
gallon depends on the country of the house.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tools_server.values.language import noted

_F = Fraction
Names = tuple[str, str]  # of one, and of several


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: its kind, how many of the kind's first it is, and what it is called."""

    kind: str
    size: Fraction
    names: Names


def _unit(kind: str, size: str | int, one: str, many: str) -> Unit:
    return Unit(kind, _F(size), (one, many))


UNITS = {
    "millimetre": _unit("length", "0.001", noted("millimetre"), noted("millimetres")),
    "centimetre": _unit("length", "0.01", noted("centimetre"), noted("centimetres")),
    "metre": _unit("length", 1, noted("metre"), noted("metres")),
    "kilometre": _unit("length", 1000, noted("kilometre"), noted("kilometres")),
    "inch": _unit("length", "0.0254", noted("inch"), noted("inches")),
    "foot": _unit("length", "0.3048", noted("foot"), noted("feet")),
    "yard": _unit("length", "0.9144", noted("yard"), noted("yards")),
    "mile": _unit("length", "1609.344", noted("mile"), noted("miles")),
    "nautical mile": _unit("length", 1852, noted("nautical mile"), noted("nautical miles")),
    "milligram": _unit("mass", "0.000001", noted("milligram"), noted("milligrams")),
    "gram": _unit("mass", "0.001", noted("gram"), noted("grams")),
    "kilogram": _unit("mass", 1, noted("kilogram"), noted("kilograms")),
    "tonne": _unit("mass", 1000, noted("tonne"), noted("tonnes")),
    "ounce": _unit("mass", "0.028349523125", noted("ounce"), noted("ounces")),
    "pound": _unit("mass", "0.45359237", noted("pound"), noted("pounds")),
    "metric pound": _unit("mass", "0.5", noted("metric pound"), noted("metric pounds")),
    "stone": _unit("mass", "6.35029318", noted("stone"), noted("stone")),
    "millilitre": _unit("volume", "0.001", noted("millilitre"), noted("millilitres")),
    "centilitre": _unit("volume", "0.01", noted("centilitre"), noted("centilitres")),
    "decilitre": _unit("volume", "0.1", noted("decilitre"), noted("decilitres")),
    "litre": _unit("volume", 1, noted("litre"), noted("litres")),
    "teaspoon": _unit("volume", "0.005", noted("teaspoon"), noted("teaspoons")),
    "tablespoon": _unit("volume", "0.015", noted("tablespoon"), noted("tablespoons")),
    "cup": _unit("volume", "0.25", noted("cup"), noted("cups")),
    "fluid ounce": _unit("volume", "0.0284130625", noted("fluid ounce"), noted("fluid ounces")),
    "pint": _unit("volume", "0.56826125", noted("pint"), noted("pints")),
    "quart": _unit("volume", "1.1365225", noted("quart"), noted("quarts")),
    "gallon": _unit("volume", "4.54609", noted("gallon"), noted("gallons")),
    "second": _unit("time", 1, noted("second"), noted("seconds")),
    "minute": _unit("time", 60, noted("minute"), noted("minutes")),
    "hour": _unit("time", 3600, noted("hour"), noted("hours")),
    "day": _unit("time", 86_400, noted("day"), noted("days")),
    "week": _unit("time", 604_800, noted("week"), noted("weeks")),
    "square metre": _unit("area", 1, noted("square metre"), noted("square metres")),
    "square kilometre": _unit("area", 1_000_000, noted("square kilometre"), noted("square kilometres")),
    "square foot": _unit("area", "0.09290304", noted("square foot"), noted("square feet")),
    "square mile": _unit("area", "2589988.110336", noted("square mile"), noted("square miles")),
    "acre": _unit("area", "4046.8564224", noted("acre"), noted("acres")),
    "hectare": _unit("area", 10_000, noted("hectare"), noted("hectares")),
    "kilometre an hour": _unit("speed", 1, noted("kilometre an hour"), noted("kilometres an hour")),
    "mile an hour": _unit("speed", "1.609344", noted("mile an hour"), noted("miles an hour")),
    "metre a second": _unit("speed", "3.6", noted("metre a second"), noted("metres a second")),
    "knot": _unit("speed", "1.852", noted("knot"), noted("knots")),
    "joule": _unit("energy", 1, noted("joule"), noted("joules")),
    "kilojoule": _unit("energy", 1000, noted("kilojoule"), noted("kilojoules")),
    "kilocalorie": _unit("energy", 4184, noted("kilocalorie"), noted("kilocalories")),
    "kilowatt hour": _unit("energy", 3_600_000, noted("kilowatt hour"), noted("kilowatt hours")),
    "bar": _unit("pressure", 1, noted("bar"), noted("bar")),
    "psi": _unit("pressure", "0.0689475729", noted("psi"), noted("psi")),
    "celsius": _unit("temperature", 1, noted("degree Celsius"), noted("degrees Celsius")),
    "fahrenheit": _unit("temperature", "5/9", noted("degree Fahrenheit"), noted("degrees Fahrenheit")),
    "kelvin": _unit("temperature", 1, noted("kelvin"), noted("kelvin")),
    "litre per 100 kilometres": _unit("fuel", 1, noted("litre per 100 kilometres"), noted("litres per 100 kilometres")),
    "mile per gallon": _unit("fuel", "282.4809363", noted("mile to the gallon"), noted("miles to the gallon")),
}
AMERICAN = {
    "teaspoon": "0.00492892159375",
    "tablespoon": "0.01478676478125",
    "cup": "0.2365882365",
    "fluid ounce": "0.0295735295625",
    "pint": "0.473176473",
    "quart": "0.946352946",
    "gallon": "3.785411784",
    "mile per gallon": "235.214583",
}
_ZERO = {"celsius": _F(0), "fahrenheit": _F(-32) * _F(5, 9), "kelvin": _F("-273.15")}  # in degrees Celsius
CURRENCIES = ("euro", "dollar", "pound sterling", "yen", "franc", "crown", "rupee", "yuan", "zloty", "peso", "rand")


class Apart(ValueError):
    """The two units measure different things, or one cannot stand for so much."""


def convert(amount: Fraction, unit: str, to: str, *, american: bool = False) -> Fraction:
    """Return how many `to` an amount of `unit` is. Raises `KeyError` for no unit, `Apart` where none is the other."""
    one, other = UNITS[unit], UNITS[to]
    if {unit, to} == {"ounce", "fluid ounce"} or one.kind != other.kind:
        if one.kind == "volume" and to == "ounce":  # "how many ounces in a pint" asks for fluid ones
            return convert(amount, unit, "fluid ounce", american=american)
        if other.kind == "volume" and unit == "ounce":
            return convert(amount, "fluid ounce", to, american=american)
        raise Apart
    if one.kind == "temperature":
        degrees = amount * one.size + _ZERO[unit]
        if degrees < _ZERO["kelvin"]:
            raise Apart
        return (degrees - _ZERO[to]) / other.size
    american = american or ("cup" in (unit, to) and {unit, to} <= {*AMERICAN})  # only America has cups beside quarts
    sizes = [_F(AMERICAN[name]) if american and name in AMERICAN else UNITS[name].size for name in (unit, to)]
    if one.kind == "fuel" and unit != to:
        if amount <= 0:
            raise Apart
        return max(sizes) / amount  # each is the other's inverse
    return amount * sizes[0] / sizes[1]
