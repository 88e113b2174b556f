"""Put German words in their form: a name with its article in a case, the verb of a clause in its place. Pure.

„Küchenlicht“ ends in „Licht“, so it is „das Küchenlicht“; a name that ends in nothing known goes without an article,
which is understood, where a wrong one would hurt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

_NOUNS: Mapping[str, str] = {
    "m": """fernseher lautsprecher ventilator ator itor ktor motor lüfter sauger roboter mäher schalter stecker
        sensor melder thermostat regler ofen herd schrank trockner spüler kocher toaster vorhang laden store
        boiler router drucker receiver beamer strahler fluter spot leuchter streifen strip baum brunnen pool
        sprenger hahn zähler akku tv player verstärker computer pc laptop bildschirm flur garten balkon keller
        boden hof raum eingang gang korridor stock schuppen carport speicher tisch kamin reiniger feuchter
        heizkörper körper kompressor pavillon alarm abend morgen mixer grill rechner server timer wecker schirm
        stuhl teich weg platz saal windfang ladestand druck feinstaub bereich""",
    "f": """lampe leuchte birne tür heizung dose maschine anlage kamera klingel glocke markise jalousie gardine
        pumpe wässerung leuchtung kette uhr leiste box soundbar bar konsole küche garage terrasse diele toilette
        stube kammer loggia veranda werkstatt treppe einfahrt auffahrt decke wand wanne dusche batterie
        temperatur feuchtigkeit feuchte station therme sauna wallbox laterne kugel schlange röhre säule
        fritteuse welle haube luke pforte etage empore galerie ecke nische bank insel musik lüftung steuerung
        sirene kerze vitrine scheune wohnung waage solaranlage ladestation helligkeit leistung energie
        lautstärke geschwindigkeit stellung orgel jukebox bühne tafel fläche qualität stärke bibliothek""",
    "n": """licht rollo radio tor fenster schloss ventil bad zimmer büro klo wc haus gerät meter display tablet
        handy kohlendioxid auto band plissee gitter bett regal relais geschoss atelier studio becken aquarium
        terrarium eisen telefon klavier spiel netz babyfon babyphone foyer labor stockwerk dach gatter netzteil
        kino sofa system bild beet gäste-wc paneel panel modul kabel mikrofon türschloss treppenhaus eck glas
        heim lager""",
    "pl": """lichter lampen leuchten vorhänge läden rollos jalousien gardinen storen markisen dosen spots boxen
        heizungen türen tore kerzen birnen ventilatoren pflanzen thermostate geräte ketten fensterläden
        fernsehgeräte leisten treppen ventile kameras schlösser""",
}  # fmt: skip
_GENDERS = {noun: gender for gender, nouns in _NOUNS.items() for noun in nouns.split()}
_LONGEST = max(map(len, _GENDERS))
_ARTICLES: Mapping[str, Mapping[str, str]] = {
    "nominative": {"m": "der", "f": "die", "n": "das", "pl": "die"},
    "accusative": {"m": "den", "f": "die", "n": "das", "pl": "die"},
    "dative": {"m": "dem", "f": "der", "n": "dem", "pl": "den"},
}
_ON = re.compile(r"(?:terrasse|balkon|dachboden|speicher|loggia|veranda|empore|galerie|treppe|bühne)$")
_ADVERB = re.compile(r"(?:dr(?:auß|inn)en|oben|unten|hinten|vorne?|überall)$", re.IGNORECASE)
_ADJECTIVE = re.compile(
    r"(?P<stem>(?:klein|groß|neu|alt|link|recht|ober|unter|vorder|hinter|mittler|lang|kurz|hell|weiß|schwarz|rot|blau"
    r"|grün|gelb|grau|bunt|warm|kalt|indirekt|erst|zweit|dritt)\w{0,4}?)(?:er|es|e|en)",
    re.IGNORECASE,
)
_OWNER = re.compile(r"[A-ZÄÖÜ]\w+(?:s|[sxzß]['’])")
_FOLLOWS = re.compile(r" (?:im|in|am|an|auf|von|vom|über|unter|neben|hinter|vor|bei|beim|zum|zur|für|mit) ")


@lru_cache(maxsize=512)
def gender(name: str) -> str:
    """Return "m", "f", "n" or "pl", by the noun that a name ends in; "" when nobody knows it."""
    words = _FOLLOWS.split(name)[0].split()
    while len(words) > 1 and (words[-1].isdigit() or len(words[-1]) == 1):
        words = words[:-1]  # „Lampe 2“
    noun = words[-1].casefold() if words else ""
    return next((hit for start in range(len(noun)) if (hit := _GENDERS.get(noun[start:][: _LONGEST + 1], ""))), "")


def is_plural(name: str) -> bool:
    """Tell whether a name is of several: „Vorhänge“."""
    return gender(name) == "pl"


def definite(name: str, case: str = "nominative") -> str:
    """Return a name with its article in a case: „den Fernseher“; „Annas Lampe“ and what is not known have none."""
    of, (first, _, rest) = gender(name), name.partition(" ")
    if not of:
        return name
    article = _ARTICLES[case][of]
    if case == "dative" and of == "pl" and not name.endswith(("n", "s")):
        name, rest = f"{name}n", f"{rest}n" if rest else ""
    if rest and (adjective := _ADJECTIVE.fullmatch(first)):
        plain = of != "pl" and (case == "nominative" or (case == "accusative" and of != "m"))
        return f"{article} {adjective['stem'].lower()}{'e' if plain else 'en'} {rest}"
    return name if rest and _OWNER.fullmatch(first) else f"{article} {name}"


def of(name: str) -> str:
    """Return whose something is: „vom Fernseher“, „von der Heizung“, „von Anna“."""
    whose = definite(name, "dative")
    return f"vom {whose.removeprefix('dem ')}" if whose.startswith("dem ") else f"von {whose}"


def inside(room: str) -> str:
    """Return where something is that is in a room: „im Flur“, „in der Küche“, „auf der Terrasse“, „draußen“."""
    if _ADVERB.fullmatch(room):
        return room.lower()
    if not gender(room):
        return f"im Bereich {room}"
    where = definite(room, "dative")
    if where == room:
        return f"in {room}"  # „in Annas Zimmer“
    if _ON.search(room.casefold()):
        return f"auf {where}"
    return f"im {where.removeprefix('dem ')}" if where.startswith("dem ") else f"in {where}"


_FINITE = re.compile(
    r"(?:ist|sind|war|waren|hat|hatte|wird|wurde|kann|muss|mag|will|soll|darf|(?!nicht)[a-zäöüß]{2,}(?:t|en))"
)
_SUBJECT = re.compile(
    r"(?:(?:der|die|das|ein|eine|mein|meine|dein|deine|unser|unsere|sein|seine|ihr|ihre) (?:[a-zäöüß]+ )*[A-ZÄÖÜ][\w-]*"
    r"|[A-ZÄÖÜ][\w-]*|ich|du|er|sie|es|wir|ihr|man)(?= )"
)


def main_clause(subordinate: str) -> str:
    """Return what stood behind „dass“ as a sentence of its own: „Anna keine Nüsse mag“ → „Anna mag keine Nüsse“.

    Only where it is plain: one subject, one verb at the end, no comma.
    """
    subject = _SUBJECT.match(subordinate)
    if not subject or "," in subordinate:
        return subordinate
    *middle, verb = subordinate[subject.end() :].split()
    if not middle or not _FINITE.fullmatch(verb) or _FINITE.fullmatch(middle[0]):
        return subordinate
    return " ".join([subject[0], verb, *middle])
