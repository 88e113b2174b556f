"""`atlas wake` tells what the house goes by."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.audio import silence
from atlas.cli.wake import main
from atlas.speech.wake_log import WakeLog
from atlas.speech.wake_rooms import folder_of


def test_a_terminal_tells_the_threshold_of_this_machines_own_room_as_atlas_toml_has_it_now(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "atlas.toml"
    settings.write_text('[satellite]\nenabled = true\nroom = "Study"\nwake_threshold = 0.7\n')
    monkeypatch.setenv("ATLAS_CONFIG", str(settings))
    monkeypatch.setenv("ATLAS_DATA", str(data))
    for room in ("Study", "Kitchen"):
        WakeLog(folder_of(data / "near_misses", room)).note("hey atlas", 0.5, 0.1, silence(1), True)
    assert main(["threshold"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Kitchen, hey atlas: 0.10 now")
    assert lines[1].startswith("Study, hey atlas: 0.70 now")
