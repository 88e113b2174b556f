"""A token that is one person's: what they tell with "my" is heard by nobody else, on whichever of their devices."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Running

pytestmark = pytest.mark.real

SHOES = "what is my shoe size"


def test_what_one_person_told_is_heard_by_nobody_else(house: Running) -> None:
    def token(device: str, role: str, *person: str) -> str:
        house.atlas("token", "revoke", device)
        return house.new_token(device, role, *person)

    def reply_to(token: str, text: str) -> str:
        messages = [{"role": "user", "content": text}]
        reply = house.client(token).chat.completions.create(model="family", messages=messages)  # type: ignore[arg-type]
        return str(reply.choices[0].message.content)

    anna = ("--person", "Anna", "--same-person")
    phone, laptop = (token(device, "adult", *anna) for device in ("Annas phone", "Annas laptop"))
    reply_to(phone, "remember that my shoe size is 40")
    assert "40" in reply_to(laptop, SHOES)
    for other in (
        token("Bens phone", "child", "--person", "Ben", "--same-person"),
        token("den panel", "adult"),
        house.token,
    ):
        assert "40" not in reply_to(other, SHOES)
