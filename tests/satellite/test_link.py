"""Whom a satellite believes: the certificate of its house as the house gives it away, and as other programs keep it."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from atlas.errors import ConfigError
from atlas.satellite.link import Link
from atlas.satellite.settings import SatelliteSettings
from tests.certificates import certificate


def trusting(file: Path) -> None:
    settings = SatelliteSettings(house="https://localhost:8643", token="atlas_t", certificate=file)
    Link(settings, lambda event: None, lambda up: None)


def test_the_certificate_of_a_house_is_taken_as_der_and_as_pem(tmp_path: Path) -> None:
    pem = certificate(tmp_path)
    text = pem.read_text()
    plain = text[text.index("-----BEGIN CERTIFICATE") :]
    (tmp_path / "plain.pem").write_text(plain)
    (tmp_path / "atlas-ca.crt").write_bytes(ssl.PEM_cert_to_DER_cert(plain))
    for name in ("plain.pem", "atlas-ca.crt"):
        trusting(tmp_path / name)


@pytest.mark.parametrize(
    "wrong", [b"", b"hello", b"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n", b"\xff\x00"]
)
def test_what_is_no_certificate_is_said_to_be_none(tmp_path: Path, wrong: bytes) -> None:
    (tmp_path / "wrong.crt").write_bytes(wrong)
    with pytest.raises(ConfigError, match=r"wrong\.crt is no certificate"):
        trusting(tmp_path / "wrong.crt")
    with pytest.raises(ConfigError, match=r"missing\.crt is no certificate"):
        trusting(tmp_path / "missing.crt")
