"""The public holidays of a country, from the package `holidays`. The first call loads a lot: use a thread."""

from __future__ import annotations

from datetime import date
from difflib import get_close_matches
from functools import cache

YEARS = 2  # this one and the next, so that there is always a next one
_ALSO = {
    "uk": "GB",
    "england": "GB",
    "britain": "GB",
    "great britain": "GB",
    "usa": "US",
    "us": "US",
    "america": "US",
    "united states of america": "US",
    "holland": "NL",
    "the netherlands": "NL",
    "czech republic": "CZ",
    "korea": "KR",
}


@cache
def countries() -> dict[str, str]:
    """Return country → ISO 3166-1 code, by name and by code, all in small letters."""
    from holidays.registry import COUNTRIES  # 8 MB and 0.3 s that a house which never asks need not pay

    known: dict[str, str] = {}
    for name, (_, code, *others) in COUNTRIES.items():
        known[name.replace("_", " ")] = known[code.lower()] = code
        known.update((other.lower(), code) for other in others)
    return known | _ALSO


def country_code(country: str) -> str | None:
    """Return the code of a country, given by name or code; None when it is not known."""
    return countries().get(" ".join(country.casefold().split()))


def nearest(country: str) -> str:
    """Return the name that is most like an unknown one, "" when none is."""
    near = get_close_matches(country.casefold(), [name for name in countries() if len(name) > 3], n=1, cutoff=0.7)
    return near[0].title() if near else ""


def days_off(code: str, region: str, today: date) -> dict[date, str]:
    """Return the holidays from today on, with their names in English where the package has them, in order.

    Raises NotImplementedError when the country has no such region.
    """
    import holidays

    years = range(today.year, today.year + YEARS)
    spoken = holidays.country_holidays(code).supported_languages
    language = next((english for english in ("en_US", "en_GB") if english in spoken), None)
    calendar = holidays.country_holidays(code, subdiv=region or None, years=years, language=language)
    return {day: calendar[day] for day in sorted(calendar) if day >= today}
