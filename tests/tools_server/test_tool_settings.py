"""What a person wrote wrongly in atlas.toml about a tool is told in the words that they wrote it in."""

from __future__ import annotations

from pathlib import Path

import pytest

import tools_server.tools
from tools_server.boot.opening import read_tool_settings
from tools_server.sdk.toolkit import find
from tools_server.values.boot_files import BootFailed


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[weather]\nlattitude = 51.45", "[tools.weather] knows no 'lattitude'. Did you mean 'latitude'?"),
        ("[weather]\nzzz = 1", "[tools.weather] knows no 'zzz'. It knows "),
        ('[weather]\nlatitude = "north"', "[tools.weather] latitude: "),
        ('[home.mqtt]\nhots = "broker"', "[tools.home.mqtt] knows no 'hots'. Did you mean 'host'?"),
        ("[wether]", "[tools.wether]: there is no such tool with settings. Did you mean 'weather'?"),
    ],
)
def test_a_wrong_setting_is_named_as_it_was_written(data: Path, written: str, message: str) -> None:
    (data / "tools.toml").write_text(written)
    with pytest.raises(BootFailed) as failed:
        read_tool_settings(data / "tools.toml", find(tools_server.tools))
    assert message in str(failed.value)
