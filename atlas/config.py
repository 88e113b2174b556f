"""atlas.toml and the environment → one frozen Config, read once, knowing where each value came from."""

from __future__ import annotations

import dataclasses
import re
import tomllib
import typing
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from atlas.errors import ConfigError
from atlas.shipped import INSTALLED, shipped
from wall.roles import ROLES, Role

SATELLITE_DEVICE = "this machine"  # the name of its device, where it is a room
UNIX_PATH_BYTES = 107  # the kernel's limit for the name of a unix socket


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """Where the front door listens."""

    host: str = "127.0.0.1"
    port: int = 8600
    https_host: str = "0.0.0.0"  # noqa: S104  # where https is served too, to addresses of a house; "" serves none
    https_port: int = 8643
    name: str = "atlas"  # the house is NAME.local
    mdns: bool = True  # is it announced so, where it listens beyond this machine, and are satellites looked for?


@dataclass(frozen=True, slots=True)
class SpeechConfig:
    """Which engines hear and speak. An engine is named by its file, `stt_NAME.py`, or by its module."""

    wake: str = "any"
    vad: str = "silero"
    stt: str = "faster_whisper"
    tts: str = "piper"
    wake_words: tuple[str, ...] = ("okay_nabu",)  # those of the agents are added
    stt_model: str = ""  # a folder of the models folder; "" is the one for the languages of the house
    second_pass_model: str = ""  # hears again what the first is not sure of; "" is what fits, "none" is none
    voice: str = "en_US-joe-medium"  # a folder of the models folder
    near_misses: bool = False  # are clips of what woke rooms, and what nearly did, stored for a day?
    threads: int = 2
    models: Path = Path("models")  # filled in from [models]
    languages: tuple[str, ...] = ("en",)  # that are heard; filled in from [house]


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """One LLM host: our own (`embedded`, started by `atlas run`) or any server that speaks the API of OpenAI."""

    kind: Literal["embedded", "server"] = "embedded"
    model: str = "smollm2-135m-instruct"  # embedded: a folder of the models folder; server: its name for the model
    url: str = ""  # server: such as http://127.0.0.1:8080/v1
    api_key_file: str = ""  # server: a file that holds the key
    tools: bool = False  # may this model be trusted to choose tools? The small default may not.
    most_tools: int = 8  # that it is shown at once; a small one reads eight for ten seconds
    answers: bool = True  # may it speak of the world? What nobody may say, is answered by rule
    patience_seconds: float = 15.0  # without a word; then it is given up, and somebody says so
    context: int = 4096  # tokens
    threads: int = 2
    gpu_layers: int = 0  # embedded: of the model, how many are computed by GPUs; -1 is all
    gpu: int = -1  # embedded: the one card that computes them, by the number that nvidia-smi gives it; -1 is all cards
    conversations: int = 8  # how many key-value caches are kept
    embedder: str = "all-minilm-l6-v2"  # embedded: makes vectors of texts, when it is on disk; "" is none


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """One agent: which model thinks for it, what it may use, where it remembers."""

    llm: str = "embedded"
    tools: tuple[str, ...] = ()  # patterns over tool names: "timers.*"
    memory: str = "atlas.db"  # a file of the data directory; one agent's memory is never another's
    roles: tuple[str, ...] = ROLES  # who may talk to it
    wake_words: tuple[str, ...] = ()  # who wakes the house by one of these talks to this agent
    devices: tuple[str, ...] = ()  # names of devices, as they were paired, from which this agent is talked to


@dataclass(frozen=True, slots=True)
class McpConfig:
    """A program that uses the tools over HTTP by a token of its own, such as an IDE."""

    agent: str = "family"  # whose tools and folder it has
    acts_as: Role = "guest"  # for whom it asks: whoever holds its token is taken for one of these


@dataclass(frozen=True, slots=True)
class WyomingConfig:
    """Where the house serves Home Assistant and others by Wyoming, which knows no tokens, and as whom they ask."""

    host: str = ""  # an address of this machine; "" serves nobody
    port: int = 10_300
    role: Literal["guest", "satellite"] = "guest"  # whoever can connect is one of these, and no more
    device: str = "wyoming"
    room: str = ""
    rooms: Mapping[str, str] = field(default_factory=dict)  # of Home Assistant's satellites, by their entities' ids


@dataclass(frozen=True, slots=True)
class WyomingSatelliteConfig:
    """A Wyoming satellite that the house calls: where it is, and which device and room it is here."""

    host: str = ""
    port: int = 10_700
    device: str = ""
    room: str = ""
    follow_up: float = 0.0  # where the house hears its wake word: seconds after an answer without it; 30 at most


@dataclass(frozen=True, slots=True)
class EsphomeConfig:
    """Where ESPHome's devices fetch what they are to say: an address of this machine that they can reach."""

    host: str = ""  # "" serves no sound, which only devices do without that take it over their own connection
    port: int = 10_310


@dataclass(frozen=True, slots=True)
class EsphomeDeviceConfig:
    """A voice device of ESPHome that the house calls: where it is, and which device and room it is here."""

    host: str = ""
    port: int = 6_053
    key_file: str = ""  # a file that holds its encryption key, as seen from atlas.toml; "" calls it unencrypted
    device: str = ""
    room: str = ""
    wake_words: tuple[str, ...] = ()  # that it listens for, of those it has; none leaves it as it is


@dataclass(frozen=True, slots=True)
class HouseConfig:
    """What the household is like."""

    language: str = "en"  # the first of `languages`, where that is set
    languages: tuple[str, ...] = ()  # that are spoken here, the usual one first; none is `language` alone
    timezone: str = ""  # an IANA name; "" is the machine's own
    agent: str = "family"  # who answers when nobody was asked for
    country: str = ""  # two letters, such as "de": whose emergency numbers are said; "" says none
    also_called: Mapping[str, str] = field(default_factory=dict)  # another name of somebody → theirs: "Mum" → "Anna"
    contact: str = ""  # whom else to call in an emergency, as it shall be said: "Maria, 0170 1234567"

    @property
    def spoken(self) -> tuple[str, ...]:
        """The languages that are spoken here, the usual one first."""
        return self.languages or (self.language,)


@dataclass(frozen=True, slots=True)
class ModelsConfig:
    """Where weights lie."""

    folder: Path = Path("models")


@dataclass(frozen=True, slots=True)
class ToolsConfig:
    """The tool server."""

    call_seconds: float = 20.0  # a tool that takes longer is given up
    policy: Path = Path("policy.toml")  # the rules; beside atlas.toml


@dataclass(frozen=True, slots=True)
class EgressConfig:
    """The one way out of the house. With an empty list there is none, and no process for it."""

    allow: tuple[str, ...] = ()  # "api.example.org:443", "*.example.org:443", "cal.example.org:443 at-home"


@dataclass(frozen=True, slots=True)
class PushConfig:
    """Which push services may be told that something waits, for devices whose app is closed. Needs [egress] too."""

    services: tuple[str, ...] = ()  # "fcm.googleapis.com:443"; with an empty list nobody is told anything


@dataclass(frozen=True, slots=True)
class VoicesConfig:
    """Are people who have recorded their voice known by it in rooms? Needs the model campplus-voices."""

    enabled: bool = False


@dataclass(frozen=True, slots=True)
class BackupConfig:
    """The backup that the house makes of itself every day."""

    folder: str = ""  # on another disk, as seen from atlas.toml; it has to be there. "" makes none
    hour: int = 3  # of the day; a house that was off makes it when it runs again
    retain: int = 7  # how many of them are kept there; others in that folder are never deleted
    passphrase_file: str = ""  # seals keys and passwords; "" leaves them out


@dataclass(frozen=True, slots=True)
class SatelliteConfig:
    """A room of the house's own machine. Other machines are rooms by `atlas satellite`."""

    enabled: bool = False
    room: str = ""
    microphone: str = ""  # "" is the system's; else [pulse:|alsa:]NAME
    microphone_form: str = ""  # of ALSA's bare hw: devices: "48000x2"
    loudspeaker: str = ""
    volume: float = 1.0
    quiet_hours: str = ""  # "22:00-07:00": then it whispers, and alarms ring as ever
    follow_up: float = 0.0  # seconds after an answer in which one may go on without the wake word; 30 at most
    wake_threshold: float = 0.0  # 0 is each wake word's own; near misses stand in the log with their scores
    near_misses: bool = False  # of this room, also where [speech] stores none
    echo_cancellation: bool = True  # where livekit is installed


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. Each part of Atlas is handed its piece and sees no other."""

    data: Path  # durable memory, sockets, secrets
    file: Path | None = None  # the atlas.toml that was read
    house: HouseConfig = HouseConfig()
    gateway: GatewayConfig = GatewayConfig()
    speech: SpeechConfig = SpeechConfig()
    models: ModelsConfig = ModelsConfig()
    tools: ToolsConfig = ToolsConfig()
    egress: EgressConfig = EgressConfig()
    push: PushConfig = PushConfig()
    satellite: SatelliteConfig = SatelliteConfig()
    wyoming: WyomingConfig = WyomingConfig()
    wyoming_satellites: tuple[WyomingSatelliteConfig, ...] = ()  # [[wyoming.satellite]]
    esphome: EsphomeConfig = EsphomeConfig()
    esphome_devices: tuple[EsphomeDeviceConfig, ...] = ()  # [[esphome.device]]
    voices: VoicesConfig = VoicesConfig()
    backup: BackupConfig = BackupConfig()
    tool_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # [tools.NAME]: the tool's own words
    llm: Mapping[str, LlmConfig] = field(default_factory=dict)
    agents: Mapping[str, AgentConfig] = field(default_factory=dict)
    mcp: Mapping[str, McpConfig] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def rooms_called(self) -> tuple[str, ...]:
        """The rooms of the devices that the house calls or Home Assistant has, in the order of their names."""
        rooms = {one.room for one in self.wyoming_satellites} | {one.room for one in self.esphome_devices}
        rooms |= {*self.wyoming.rooms.values()}
        return tuple(sorted(rooms - {""}))

    @property
    def own_room(self) -> str:
        """What this machine's room is called where rooms are told apart: by its name, or by that of its device."""
        return self.satellite.room or SATELLITE_DEVICE

    def wake_threshold(self, room: str) -> float:
        """Return how sure a room has to be of every wake word by atlas.toml; 0 where that does not say."""
        return self.satellite.wake_threshold if room == self.own_room else 0.0

    @property
    def run(self) -> Path:
        """The folder of sockets and of what only lives while Atlas runs."""
        return self.data / "run"

    @property
    def secrets(self) -> Path:
        """The folder of files that only Atlas may read: tokens."""
        return self.data / "secrets"

    def agent_folder(self, agent: str) -> str:
        """Return the name of the folder, in the data directory, of what an agent writes and people edit by hand."""
        return f"{agent}-agent-config"

    @property
    def tools_data(self) -> Path:
        """The folder of the tool server: its memory and its record. It sees nothing else of `data` but the folders."""
        return self.data / "tools"

    def tools_token(self, agent: str) -> Path:
        """Return the file of the token by which the tool server knows `agent`; "house" for the house itself."""
        return self.secrets / f"tools-{agent}.token"

    @property
    def owner_token(self) -> Path:
        """The file of the token that the terminal uses."""
        return self.secrets / "owner.token"

    @property
    def satellite_token(self) -> Path:
        """The file of the token by which the room of this machine comes in."""
        return self.secrets / "satellite.token"

    @property
    def certificates(self) -> Path:
        """The folder of the house's own certificate authority, its key and the certificate that it serves."""
        return self.secrets / "tls"

    @property
    def house_key(self) -> Path:
        """The file of the key that the house signs with."""
        return self.secrets / "house.key"

    @property
    def house_public_key(self) -> Path:
        """The file of its public half, by which the tool server knows what the house has signed."""
        return self.secrets / "house.pub"

    @property
    def push_key(self) -> Path:
        """The file of the key by which push services know this house."""
        return self.secrets / "push.key"

    @property
    def near_misses(self) -> Path:
        """The folder of what woke rooms, and what nearly did: a folder for each."""
        return self.data / "near_misses"

    @property
    def record_head(self) -> Path:
        """The file that says how far the tool server's record goes, signed by the house."""
        return self.secrets / "record.head"

    @property
    def egress_record(self) -> Path:
        """The file of the record of what left the house."""
        return self.data / "egress.jsonl"

    @property
    def egress_head(self) -> Path:
        """The file that says how far the record of the way out goes, signed by the house."""
        return self.secrets / "egress.head"

    def socket(self, name: str) -> Path:
        """Return the unix socket called `name`: "tools", or "llm-NAME"."""
        return self.run / f"{name}.sock"

    def origin(self, key: str) -> str:
        """Say where the value of `section.key` came from: a file, a variable of the environment, or the default."""
        return self.origins.get(key, "default")


NO_SECOND_EARS = "none"  # as a setting, in the place of a model
ENGLISH_EARS, OTHER_EARS = "whisper-tiny.en", "whisper-base"  # the second hears many languages, and takes twice as long
OWN_FILE = shipped("atlas.toml")  # so that `atlas ask` works from any directory
DEFAULT_LLM = {"embedded": LlmConfig(answers=False)}  # too many of its answers are wrong: see docs/log.md
HOUSEHOLD = (  # what anybody's agent may use; what a role may not is said in policy.toml
    *("clock.*", "timers.*", "reminders.*", "alarms.*", "tasks.*", "lists.*", "notes.*", "files.*", "calendar.*"),
    *(
        "weather.*",
        "world.*",
        "home.*",
        "presence.*",
        "broadcast.*",
        "messages.*",
        "later.*",
        "history.*",
        "memory.*",
        "facts.*",
    ),
    *("ledger.*", "upstream.*"),
)
DEFAULT_AGENTS = {
    "family": AgentConfig(tools=HOUSEHOLD),
    "work": AgentConfig(tools=(*HOUSEHOLD, "email.*", "logs.*"), memory="work.db", roles=("owner",)),
}
_MEMORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.db")
NO_MEMORIES = ("devices.db", "plans.db", "tools.db", "voices.db")  # they are something else
_AT_LEAST_ONE = (1, 10_000_000)
BOUNDS = {
    "port": (1, 65_535),
    "https_port": (1, 65_535),
    "gpu_layers": (-1, 10_000),
    "gpu": (-1, 63),
    "call_seconds": (0.1, 3_600),
    "patience_seconds": (1, 600),
    "volume": (0, 4),
    "follow_up": (0, 30),
    "most_tools": (1, 8),
    "wake_threshold": (0, 0.99),
    "hour": (0, 23),
    "retain": (1, 1_000),
}  # of numbers, by their names
NAMED_SECTIONS = {"llm": LlmConfig, "agents": AgentConfig, "mcp": McpConfig}
SECTIONS = {name: kind for name, kind in typing.get_type_hints(Config).items() if dataclasses.is_dataclass(kind)}
MOST_SATELLITES = 64
MOST_LANGUAGES = 4  # of one house; each has its grammars in memory
Machine = typing.TypeVar("Machine", WyomingSatelliteConfig, EsphomeDeviceConfig)
_PATHS = ("_file", "_folder")  # a setting of a tool that is called so, or ends so, is a path, as seen from atlas.toml


def load(environment: Mapping[str, str], file: Path | None = None) -> Config:
    """Read `file`, else `$ATLAS_CONFIG`, else `atlas.toml` of the working directory, else of the data directory.

    Where there is none, the one that comes with Atlas counts; in an installed wheel its paths are as seen from the data
    directory, for nothing is written among the code.
    A variable `ATLAS_SECTION_KEY` of the environment wins over the file, for the plain sections.
    `$ATLAS_DATA` is the data directory. Raises `ConfigError` naming the key, where it stands and what would be right.
    """
    path = file or (Path(environment["ATLAS_CONFIG"]) if environment.get("ATLAS_CONFIG") else None)
    data = Path(environment.get("ATLAS_DATA") or Path.home() / ".local/share/atlas").expanduser().absolute()
    if path is None:
        path = next((file for file in (Path("atlas.toml"), data / "atlas.toml", OWN_FILE) if file.is_file()), None)
    table, where = _read(path), str(path) if path else "default"
    origins: dict[str, str] = {}

    unknown = set(table) - set(SECTIONS) - set(NAMED_SECTIONS)
    if unknown:
        raise ConfigError(
            f"{where}: no section is called [{min(unknown)}]",
            hint=f"sections are {', '.join(sorted([*SECTIONS, *NAMED_SECTIONS]))}",
        )
    tools = _table(table.get("tools", {}), "tools", where)
    tables_of_tools = {name: piece for name, piece in tools.items() if isinstance(piece, dict)}
    table = {**table, "tools": {name: value for name, value in tools.items() if name not in tables_of_tools}}
    satellites = _machines(WyomingSatelliteConfig, "wyoming", "satellite", table, where, origins)
    devices = _machines(EsphomeDeviceConfig, "esphome", "device", table, where, origins)
    _check_names([*satellites, *devices], where)
    plain = {
        name: _piece(kind, name, table.get(name, {}), where, environment, origins) for name, kind in SECTIONS.items()
    }
    named = _named(table, where, origins)
    base = data if INSTALLED and path == OWN_FILE else path.absolute().parent if path else Path.cwd()
    plain["house"] = _with_languages(plain["house"], where, origins)
    if not plain["speech"].stt_model:  # the shipped file writes it empty, and nobody chose what then hears
        origins.pop("speech.stt_model", None)
    if country := plain["house"].country:  # holidays and pints are its own where nothing else is said
        tables_of_tools["clock"] = {"country": country, **tables_of_tools.get("clock", {})}
    plain |= _resolved(plain, named["agents"], base, has_policy=origins.get("tools.policy", "default") != "default")
    config = Config(
        data=data,
        file=path,
        **plain,
        **named,
        wyoming_satellites=satellites,
        esphome_devices=tuple(dataclasses.replace(one, key_file=_path(base, one.key_file)) for one in devices),
        tool_settings={name: _with_paths(piece, base) for name, piece in tables_of_tools.items()},
        origins=origins,
    )
    _check(config, where)
    return config


def _named(table: Mapping[str, Any], where: str, origins: dict[str, str]) -> dict[str, Any]:
    """Return the sections of which there are several, each under a name of its own."""
    named: dict[str, Any] = {"llm": dict(DEFAULT_LLM), "agents": dict(DEFAULT_AGENTS), "mcp": {}}
    for section, kind in NAMED_SECTIONS.items():
        for name, piece in _table(table.get(section, {}), section, where).items():
            key = f"{section}.{name}"
            named[section][name] = _piece(kind, key, piece, where, {}, origins, start=named[section].get(name))
    return named


def _resolved(
    plain: Mapping[str, Any], agents: Mapping[str, AgentConfig], base: Path, *, has_policy: bool
) -> dict[str, Any]:
    """Return the sections that have paths, seen from `base`, or take something of another section."""
    folder, policy = (base / path.expanduser() for path in (plain["models"].folder, plain["tools"].policy))
    if not has_policy and not policy.is_file():
        policy = shipped("policy.toml")
    speech, backup, languages = plain["speech"], plain["backup"], plain["house"].spoken
    words = [*speech.wake_words, *(word for agent in agents.values() for word in agent.wake_words)]
    return {
        "models": ModelsConfig(folder),
        "tools": dataclasses.replace(plain["tools"], policy=policy),
        "speech": dataclasses.replace(
            speech,
            models=folder,
            wake_words=tuple(dict.fromkeys(words)),
            stt_model=speech.stt_model or usual_ears(languages),
            languages=languages,
        ),
        "backup": dataclasses.replace(
            backup, folder=_path(base, backup.folder), passphrase_file=_path(base, backup.passphrase_file)
        ),
    }


def usual_ears(languages: Sequence[str]) -> str:
    """Return the recogniser that hears these languages, where no other was chosen."""
    return ENGLISH_EARS if tuple(languages) == ("en",) else OTHER_EARS


def _machines(
    kind: type[Machine], section: str, name: str, table: dict[str, Any], where: str, origins: dict[str, str]
) -> tuple[Machine, ...]:
    """Take the machines that the house calls out of a section. Raises `ConfigError` for one without an address."""
    rest = dict(_table(table.get(section, {}), section, where))
    pieces = rest.pop(name, [])
    table[section] = rest
    if not isinstance(pieces, list) or len(pieces) > MOST_SATELLITES:
        raise ConfigError(
            f"{where}: {section}.{name} must be at most {MOST_SATELLITES} sections",
            hint=f"write [[{section}.{name}]]",
        )
    machines: list[Machine] = []
    for number, piece in enumerate(pieces, 1):
        one = _piece(kind, f"{section}.{name} {number}", piece, where, {}, origins)
        if not one.host or not one.device:
            raise ConfigError(
                f"{where}: [[{section}.{name} {number}]] lacks host or device",
                hint='host = "192.168.1.20", device = "kitchen satellite"',
            )
        machines.append(one)
    return tuple(machines)


def _check_names(machines: Sequence[WyomingSatelliteConfig | EsphomeDeviceConfig], where: str) -> None:
    for device, times in Counter(one.device for one in machines).items():
        if times > 1:
            raise ConfigError(f"{where}: two satellites are called {device!r}", hint="give each a name of its own")


def _with_languages(house: HouseConfig, where: str, origins: Mapping[str, str]) -> HouseConfig:
    """Return the household with its usual language as the first of all. Raises `ConfigError` where two are named."""
    if not house.languages:
        return house
    first = house.languages[0]
    if "house.language" in origins and house.language != first:
        raise ConfigError(
            f"{where}: house.language is {house.language!r}, but house.languages begins with {first!r}",
            hint="take house.language out, or put it first in house.languages",
        )
    if len(set(house.languages)) != len(house.languages) or len(house.languages) > MOST_LANGUAGES:
        raise ConfigError(
            f"{where}: house.languages must be at most {MOST_LANGUAGES} languages, each once",
            hint='such as ["en", "de"]',
        )
    return dataclasses.replace(house, language=first)


def _path(base: Path, name: str) -> str:
    return str(base / Path(name).expanduser()) if name else ""


def _with_paths(piece: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Return a tool's settings with whole paths: the tool server has another working directory, and no home."""

    def whole(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return _with_paths(value, base)
        if isinstance(value, list):
            return [whole(name, item) for item in value]
        if isinstance(value, str) and value and f"_{name}".endswith(_PATHS):
            return str(base / Path(value).expanduser())
        return value

    return {name: whole(name, value) for name, value in piece.items()}


def _check(config: Config, where: str) -> None:
    for name, agent in config.agents.items():
        if agent.llm not in config.llm:
            raise ConfigError(
                f"{where}: agents.{name}.llm is {agent.llm!r}, but there is no [llm.{agent.llm}]",
                hint=f"name one of {', '.join(config.llm)}, or add a section [llm.{agent.llm}]",
            )
        if strangers := set(agent.roles) - set(ROLES):
            raise ConfigError(
                f"{where}: agents.{name}.roles has {min(strangers)!r}, which is no role",
                hint=f"roles are {', '.join(ROLES)}",
            )
    if config.house.agent not in config.agents:
        raise ConfigError(
            f"{where}: house.agent is {config.house.agent!r}, which is no agent",
            hint=f"name one of {', '.join(config.agents)}",
        )
    for setting in ("wake_words", "devices"):
        _check_shared(config, setting, where)
    _check_memories(config, where)
    _check_clients(config, where)
    for name, llm in config.llm.items():
        if llm.kind == "server" and not llm.url:
            raise ConfigError(f"{where}: llm.{name} is a server without url", hint='add url = "http://…/v1"')
        longest = config.socket(f"llm-{name}")
        if len(bytes(longest)) > UNIX_PATH_BYTES:
            raise ConfigError(
                f"the socket {longest} has a name of more than {UNIX_PATH_BYTES} bytes",
                hint="set ATLAS_DATA to a shorter path",
            )


def _check_clients(config: Config, where: str) -> None:
    """Refuse a program whose token would be an agent's, or that asks for somebody whom its agent does not talk to."""
    for name, client in config.mcp.items():
        if name in config.agents:
            raise ConfigError(f"{where}: mcp.{name} has the name of an agent", hint="rename it")
        if client.agent not in config.agents:
            raise ConfigError(
                f"{where}: mcp.{name}.agent is {client.agent!r}, which is no agent",
                hint=f"name one of {', '.join(config.agents)}",
            )
        roles = config.agents[client.agent].roles
        if client.acts_as not in roles:
            raise ConfigError(
                f"{where}: mcp.{name}.acts_as: {client.agent} does not talk to the role {client.acts_as!r}",
                hint=f"it talks to {', '.join(roles)}",
            )


def _check_memories(config: Config, where: str) -> None:
    """Refuse what would let two agents, or an agent and something else, write into one file."""
    owners: dict[str, str] = {}
    for name, agent in config.agents.items():
        if not _MEMORY.fullmatch(agent.memory) or agent.memory.lower() in NO_MEMORIES:
            raise ConfigError(
                f"{where}: agents.{name}.memory cannot be {agent.memory!r}",
                hint=f'it is a file of the data directory, such as "{name}.db", and no other part\'s',
            )
        other = owners.setdefault(agent.memory.lower(), name)  # some disks do not tell the cases apart
        if other != name:
            raise ConfigError(
                f"{where}: two agents share one memory file: {other} and {name}",
                hint="give each [agents.NAME] a memory of its own",
            )


def _check_shared(config: Config, setting: str, where: str) -> None:
    """Raise when two agents claim one wake word or device: which of them is meant could not be told."""
    owners: dict[str, str] = {}
    for name, agent in config.agents.items():
        for value in getattr(agent, setting):
            if not value.strip():
                raise ConfigError(f"{where}: agents.{name}.{setting} has an empty name", hint="take it out")
            if (other := owners.setdefault(value, name)) != name:
                raise ConfigError(
                    f"{where}: agents.{other}.{setting} and agents.{name}.{setting} both have {value!r}",
                    hint="give it to one of them",
                )


def _read(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as trouble:
        raise ConfigError(f"{path} cannot be read: {trouble.strerror}", hint="check ATLAS_CONFIG") from trouble
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as trouble:
        raise ConfigError(f"{path} is not TOML: {trouble}", hint="mend the file at that line") from trouble


def _table(value: Any, key: str, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: {key} must be a section, not {value!r}", hint=f"write [{key}]")
    return value


def _piece(
    kind: Any,
    section: str,
    table: Any,
    where: str,
    environment: Mapping[str, str],
    origins: dict[str, str],
    start: Any = None,
) -> Any:
    """Return one section as its frozen value: environment over file over `start` over the defaults."""
    table = _table(table, section, where)
    hints = typing.get_type_hints(kind)
    fields = [f.name for f in dataclasses.fields(kind)]
    if unknown := set(table) - set(fields):
        raise ConfigError(
            f"{where}: [{section}] has no setting {min(unknown)!r}", hint=f"its settings are {', '.join(fields)}"
        )
    values: dict[str, Any] = {}
    for name in fields:
        key, variable = f"{section}.{name}", f"ATLAS_{section}_{name}".upper()
        if variable in environment:
            values[name], origins[key] = _parsed(environment[variable], hints[name], variable), variable
            _bounded(name, values[name], variable)
        elif name in table:
            values[name], origins[key] = _typed(table[name], hints[name], key, where), where
            _bounded(name, values[name], f"{where}: {key}")
    return dataclasses.replace(start, **values) if start is not None else kind(**values)


def _bounded(name: str, value: Any, what: str) -> None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        least, most = BOUNDS.get(name, _AT_LEAST_ONE)
        if not least <= value <= most:
            raise ConfigError(f"{what} must be from {least} to {most}, not {value}", hint=f"mend {name}")


def _typed(value: Any, hint: Any, key: str, where: str) -> Any:
    """Return `value` when it is what the field wants; `ConfigError` says what would be right."""
    if typing.get_origin(hint) is Literal:
        wanted, fits = " or ".join(map(repr, typing.get_args(hint))), value in typing.get_args(hint)
    elif typing.get_origin(hint) is tuple:
        wanted, fits = "a list of texts", isinstance(value, list) and all(isinstance(v, str) for v in value)
        value = tuple(value) if fits else value
    elif typing.get_origin(hint) is Mapping:
        wanted, fits = "a table of texts", isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    elif hint is Path:
        wanted, fits = "a path", isinstance(value, str)
        value = Path(value) if fits else value
    elif hint is float:
        wanted, fits = "a number", isinstance(value, (int, float)) and not isinstance(value, bool)
    else:
        wanted, fits = f"a value like {hint()!r}", type(value) is hint
    if not fits:
        raise ConfigError(f"{where}: {key} must be {wanted}, not {value!r}", hint=f"mend {key}")
    return value


_SWITCHES = {"true": True, "false": False, "1": True, "0": False}  # in the environment


def _parsed(text: str, hint: Any, variable: str) -> Any:
    """Read a variable of the environment as the field's type."""
    if hint in (int, float):
        try:
            return hint(text)
        except ValueError as trouble:
            raise ConfigError(f"{variable} must be a number, not {text!r}", hint=f"mend {variable}") from trouble
    if hint is bool:
        if text.strip().lower() not in _SWITCHES:
            wanted = " or ".join(_SWITCHES)
            raise ConfigError(f"{variable} must be {wanted}, not {text!r}", hint=f"mend {variable}")
        return _SWITCHES[text.strip().lower()]
    if typing.get_origin(hint) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return _typed(text, hint, variable, "environment")
