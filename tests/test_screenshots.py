"""The pictures of the app are of a house in use, and never of the one whose checkout takes them."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from scripts import screenshots


def test_what_an_owner_wrote_into_the_checkouts_settings_is_in_no_picture(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    settings = tmp_path / "atlas.toml"
    settings.write_text('[house]\ncontact = ""\n')
    git("init", "-q")
    git("add", "atlas.toml")
    git("commit", "-qm", "Begin")
    settings.write_text('[house]\ncontact = "Maria, 0170 1234567"\n')
    assert screenshots.as_shipped("atlas.toml", tmp_path) == '[house]\ncontact = ""\n'


@pytest.mark.real
def test_the_house_of_the_pictures_has_people_who_left_messages() -> None:
    with screenshots.house() as (url, token):

        def get(path: str) -> Any:
            request = urllib.request.Request(f"{url}/api/{path}", headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request) as reply:
                return json.load(reply)

        assert {one["name"] for one in get("people")["people"]} == {"Anna", "Tom", "Mia", "Ben"}
        assert {one["sender"] for one in get("voice-messages")["messages"]} == {"Anna", "Tom", "Mia"}
        assert get("me")["person"] == "Anna"
