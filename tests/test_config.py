from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from atlas.config import Config, LlmConfig, load
from atlas.errors import ConfigError
from atlas.opening import _backend_settings
from atlas.shipped import shipped
from tests.conftest import for_every

ROOT = Path(__file__).parent.parent


def write(data: Path, text: str) -> Path:
    file = data / "atlas.toml"
    file.write_text(text)
    return file


def test_a_model_that_says_nothing_is_given_up_after_the_time_that_the_settings_say(tmp_path: Path) -> None:
    config = Config(data=tmp_path)
    assert _backend_settings(config, "x", LlmConfig()).first_words_seconds == 15.0
    server = LlmConfig(kind="server", url="http://127.0.0.1:1/v1", patience_seconds=40.0)
    assert _backend_settings(config, "x", server).first_words_seconds == 40.0


def test_the_settings_file_of_the_checkout_says_what_the_defaults_are(data: Path) -> None:
    empty = write(data, '[models]\nfolder = "models"\n')
    written, default = load({"ATLAS_DATA": str(data)}, ROOT / "atlas.toml"), load({"ATLAS_DATA": str(data)}, empty)
    assert written.house == default.house
    assert written.gateway == default.gateway
    assert written.agents == default.agents
    assert written.llm == default.llm


@pytest.mark.parametrize(
    ("house", "languages", "ears"),
    [
        ("", ("en",), "whisper-tiny.en"),
        ('language = "de"', ("de",), "whisper-base"),
    ],
)
def test_a_house_has_the_ears_for_the_languages_that_are_spoken_in_it(
    data: Path, house: str, languages: tuple[str, ...], ears: str
) -> None:
    speech = load({}, write(data, f"[house]\n{house}\n")).speech
    assert (speech.languages, speech.stt_model) == (languages, ears)
    assert load({"ATLAS_SPEECH_STT_MODEL": "own"}, write(data, f"[house]\n{house}\n")).speech.stt_model == "own"


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(data: Path) -> None:
    file = write(data, "[gateway]\nport = 1111\n")
    assert load({}, file).gateway.port == 1111
    assert load({"ATLAS_GATEWAY_PORT": "2222"}, file).gateway.port == 2222


def test_every_value_knows_where_it_came_from(data: Path) -> None:
    file = write(data, "[gateway]\nport = 1111\n")
    config = load({"ATLAS_SPEECH_THREADS": "1"}, file)
    assert config.origin("gateway.port") == str(file)
    assert config.origin("speech.threads") == "ATLAS_SPEECH_THREADS"
    assert config.origin("gateway.host") == "default"


def test_the_data_directory_is_atlas_data_or_lies_in_the_home_folder(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(data, "")
    assert load({"ATLAS_DATA": str(data / "deep")}, file).data == data / "deep"
    monkeypatch.setenv("HOME", str(data))
    assert load({}, file).data == data / ".local/share/atlas"


def test_models_lie_beside_the_settings_file(data: Path) -> None:
    config = load({}, write(data, '[models]\nfolder = "weights"\n'))
    assert config.models.folder == data / "weights"
    assert config.speech.models == data / "weights"


@pytest.mark.parametrize(
    ("house", "spoken"),
    [
        ("", ("en",)),
        ('language = "de"', ("de",)),
        ('languages = ["en", "de"]', ("en", "de")),
        ('language = "de"\nlanguages = ["de", "en"]', ("de", "en")),
        ("languages = []", ("en",)),
    ],
)
def test_a_house_speaks_one_language_or_several_the_first_of_which_is_the_usual_one(
    data: Path, house: str, spoken: tuple[str, ...]
) -> None:
    config = load({}, write(data, f"[house]\n{house}\n"))
    assert (config.house.language, config.house.spoken, config.speech.languages) == (spoken[0], spoken, spoken)


def test_from_another_directory_it_is_still_the_house_of_this_checkout(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    assert load({}).models.folder == ROOT / "models"
    write(data, "[gateway]\nport = 1111\n")
    assert load({}).gateway.port == 1111


def test_an_agent_may_be_pointed_at_another_server(data: Path) -> None:
    file = write(data, '[llm.big]\nkind = "server"\nurl = "http://gpu:8080/v1"\n[agents.work]\nllm = "big"\n')
    config = load({}, file)
    assert config.agents["work"].llm == "big"
    assert config.agents["work"].memory == "work.db"  # the rest of its settings stays
    assert config.agents["family"].llm == "embedded"


def test_sockets_secrets_and_tokens_have_their_places(config: Config) -> None:
    assert config.socket("tools") == config.data / "run" / "tools.sock"
    assert config.tools_token("work") == config.data / "secrets" / "tools-work.token"
    assert config.owner_token == config.data / "secrets" / "owner.token"


@for_every(
    ("text", "complaint"),
    [
        ("[gatway]\n", r"no section is called \[gatway\]"),
        ("[gateway]\nprot = 1\n", r"\[gateway\] has no setting 'prot'"),
        ('[gateway]\nport = "8600"\n', "gateway.port must be a value like 0"),
        ("[house]\nlanguage = 7\n", "house.language must be"),
        ('[house]\nlanguage = "en"\nlanguages = ["de", "en"]\n', "house.languages begins with 'de'"),
        ('[house]\nlanguages = ["de", "de"]\n', "at most 4 languages, each once"),
        ('[speech]\nwake_words = "okay_nabu"\n', "must be a list of texts"),
        ('[tools]\ncall_seconds = "soon"\n', "must be a number"),
        ("[gateway]\nport = 86000\n", "gateway.port must be from 1 to 65535"),
        ("[speech]\nthreads = 0\n", "speech.threads must be from 1"),
        ("[llm.x]\ncontext = -1\n", "llm.x.context must be from 1"),
        ("[tools]\ncall_seconds = nan\n", "tools.call_seconds must be from"),
        ('[llm.x]\nkind = "magic"\n', "'embedded' or 'server'"),
        ('[llm.x]\nkind = "server"\n', "server without url"),
        ('[agents.family]\nllm = "nowhere"\n', r"there is no \[llm.nowhere\]"),
        ('[house]\nagent = "butler"\n', "which is no agent"),
        ('[agents.work]\nroles = ["onwer"]\n', r"agents.work.roles has 'onwer', which is no role"),
        ('[agents.work]\nmemory = "atlas.db"\n', "share one memory file: family and work"),
        ('[agents.work]\nmemory = "Atlas.DB"\n', "agents.work.memory cannot be 'Atlas.DB'"),
        ('[agents.work]\nmemory = "ATLAS.db"\n', "share one memory file"),
        ('[agents.work]\nmemory = "./atlas.db"\n', "agents.work.memory cannot be './atlas.db'"),
        ('[agents.work]\nmemory = "/etc/work.db"\n', "agents.work.memory cannot be"),
        ('[agents.work]\nmemory = "atlas.db-wal"\n', "agents.work.memory cannot be"),
        ('[agents.work]\nmemory = "devices.db"\n', "agents.work.memory cannot be 'devices.db'"),
        ('[agents.work]\nwake_words = "hey_jarvis"\n', "agents.work.wake_words must be a list of texts"),
        ('[agents.work]\nwake_words = [""]\n', "agents.work.wake_words has an empty name"),
        ('[agents.work]\ndevices = [" "]\n', "agents.work.devices has an empty name"),
        (
            '[agents.family]\nwake_words = ["alexa"]\n[agents.work]\nwake_words = ["alexa"]\n',
            "agents.family.wake_words and agents.work.wake_words both have 'alexa'",
        ),
        (
            '[agents.family]\ndevices = ["study"]\n[agents.work]\ndevices = ["study"]\n',
            "agents.family.devices and agents.work.devices both have 'study'",
        ),
        ('[mcp.ide]\nagent = "butler"\n', "mcp.ide.agent is 'butler', which is no agent"),
        ('[mcp.ide]\nacts_as = "admin"\n', "mcp.ide.acts_as must be 'owner' or"),
        ('[mcp.ide]\nagent = "work"\nacts_as = "adult"\n', "mcp.ide.acts_as: work does not talk to the role 'adult'"),
        ('[mcp.work]\nacts_as = "owner"\n', "mcp.work has the name of an agent"),
        ("agents = 3\n", "agents must be a section"),
        ("[gateway\n", "is not TOML"),
    ],
)
def test_a_mistake_names_the_file_and_the_key(data: Path, text: str, complaint: str) -> None:
    file = write(data, text)
    with pytest.raises(ConfigError, match=complaint) as mistake:
        load({}, file)
    assert str(file) in str(mistake.value)
    assert mistake.value.hint


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        *(("ATLAS_GATEWAY_PORT", "eighty"), ("ATLAS_TOOLS_CALL_SECONDS", "soon"), ("ATLAS_GATEWAY_PORT", "-1")),
        *(("ATLAS_GATEWAY_MDNS", "maybe"), ("ATLAS_GATEWAY_MDNS", "")),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(data: Path, variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        load({variable: text}, write(data, ""))


@pytest.mark.parametrize(("text", "is_on"), [("false", False), ("True", True), ("0", False), ("1", True)])
def test_the_environment_turns_things_on_and_off(data: Path, text: str, is_on: bool) -> None:
    config = load({"ATLAS_GATEWAY_MDNS": text, "ATLAS_VOICES_ENABLED": text}, write(data, ""))
    assert (config.gateway.mdns, config.voices.enabled) == (is_on, is_on)


def test_lists_in_the_environment_are_separated_by_commas(data: Path) -> None:
    config = load({"ATLAS_SPEECH_WAKE_WORDS": "okay_nabu, hey_jarvis,"}, write(data, ""))
    assert config.speech.wake_words == ("okay_nabu", "hey_jarvis")


def test_the_house_listens_for_the_wake_words_of_its_agents_too_and_for_each_once(data: Path) -> None:
    own_name = '[agents.work]\nwake_words = ["hey_jarvis", "okay_nabu"]\n'
    assert load({}, write(data, own_name)).speech.wake_words == ("okay_nabu", "hey_jarvis")
    assert load({}, write(data, "[speech]\nwake_words = []\n" + own_name)).speech.wake_words == (
        "hey_jarvis",
        "okay_nabu",
    )


def test_a_settings_file_that_is_not_there_is_an_error_and_not_the_defaults(data: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load({"ATLAS_CONFIG": str(data / "none.toml")})


def test_the_family_can_live_with_its_tools_and_reads_nobodys_mail(config: Config) -> None:
    def granted(agent: str, tool: str) -> bool:
        return any(fnmatchcase(tool, pattern) for pattern in config.agents[agent].tools)

    for tool in (
        "timers.start",
        "reminders.add",
        "lists.add",
        "home.set",
        "history.undo",
        "calendar.add",
        "files.read",
    ):
        assert granted("family", tool)
        assert granted("work", tool)
    assert granted("work", "email.send")
    assert not granted("family", "email.read")
    for agent in config.agents:
        for tool in ("asks.answer", "asks.waiting", "timers_evil.x", "system.run", "code.run"):
            assert not granted(agent, tool), "what brings a person's yes is the house's alone"


def test_each_agent_writes_in_a_folder_of_its_own(config: Config) -> None:
    folders = [config.agent_folder(agent) for agent in config.agents]
    assert folders == ["family-agent-config", "work-agent-config"]


def test_a_data_directory_too_deep_for_sockets_is_refused_at_once(data: Path) -> None:
    with pytest.raises(ConfigError, match="more than 107 bytes") as deep:
        load({"ATLAS_DATA": str(data / ("x" * 100))}, write(data, ""))
    assert "shorter" in deep.value.hint


def test_what_a_tool_is_told_is_its_own_business_but_paths_are_whole(data: Path) -> None:
    file = write(
        data,
        '[tools]\ncall_seconds = 5\n[tools.email]\nuser = "anna"\npassword_file = "secrets/mail"\n'
        '[[tools.calendar.accounts]]\nca_file = "/etc/ca.pem"\ntoken_file = "tok"\n',
    )
    config = load({}, file)
    assert config.tools.call_seconds == 5
    assert config.tool_settings == {
        "email": {"user": "anna", "password_file": str(data / "secrets/mail")},
        "calendar": {"accounts": [{"ca_file": "/etc/ca.pem", "token_file": str(data / "tok")}]},
    }


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("[tools.clock]\nregion = 'BY'", {"country": "FR", "region": "BY"}),
        ("[tools.clock]\ncountry = 'DE'", {"country": "DE"}),
        ("", {"country": "FR"}),
    ],
)
def test_the_country_that_was_chosen_for_the_house_is_that_of_its_holidays_unless_they_have_another(
    data: Path, text: str, clock: dict[str, str]
) -> None:
    file = write(data, f"[house]\ncountry = 'FR'\n{text}\n")
    assert load({"ATLAS_DATA": str(data)}, file).tool_settings["clock"] == clock


def test_nothing_leaves_the_house_unless_it_is_listed(data: Path) -> None:
    assert load({}, write(data, "")).egress.allow == ()
    assert load({}, write(data, '[egress]\nallow = ["a.org:443"]\n')).egress.allow == ("a.org:443",)


def test_people_may_have_other_names_and_nothing_else_stands_in_their_place(data: Path) -> None:
    file = data / "atlas.toml"
    file.write_text('[house]\nalso_called = {Mum = "Anna"}\n')
    assert load({"ATLAS_DATA": str(data)}, file).house.also_called == {"Mum": "Anna"}
    for wrong in ('"Mum"', "{Mum = 1}", '["Mum"]'):
        file.write_text(f"[house]\nalso_called = {wrong}\n")
        with pytest.raises(ConfigError, match="a table of texts"):
            load({"ATLAS_DATA": str(data)}, file)


def test_settings_may_lie_with_the_data_where_there_is_no_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    (data / "atlas.toml").write_text('[house]\nlanguage = "de"\n')
    config = load({"ATLAS_DATA": str(data)})
    assert (config.house.language, config.models.folder) == ("de", data / "models")
    assert config.tools.policy == shipped("policy.toml"), "rules are never missing"
    (data / "policy.toml").touch()
    assert load({"ATLAS_DATA": str(data)}).tools.policy == data / "policy.toml"
    assert load({"ATLAS_DATA": str(data), "ATLAS_TOOLS_POLICY": "mine.toml"}).tools.policy == data / "mine.toml"
