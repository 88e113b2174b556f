from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from atlas.push.encryption import TEXT_BYTES, point_of, read_unpadded, seal, unpadded
from tests.conftest import for_every
from tests.push.receiver import unseal

# RFC 8291, section 5 and appendix A
TEXT = b"When I grow up, I want to be a watermelon"
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
BROWSER = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
BROWSER_PUBLIC = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH, SALT = "BTBZMqHH6r4Tts7J_aSIgg", "DGv6ra1nlYgDCS1FRnbzlw"
MESSAGE = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
    "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def private(text: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(read_unpadded(text)), ec.SECP256R1())


def test_the_message_of_the_standard_comes_out_to_the_byte():
    keys = read_unpadded(BROWSER_PUBLIC), read_unpadded(AUTH)
    body = seal(TEXT, *keys, size=len(TEXT), sender=private(SENDER), salt=read_unpadded(SALT))
    assert unpadded(body) == MESSAGE


def test_the_browser_of_the_standard_reads_it():
    assert unseal(read_unpadded(MESSAGE), private(BROWSER), read_unpadded(AUTH)) == TEXT


def test_two_messages_of_different_words_have_one_size_and_nothing_else_in_common():
    browser, auth = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
    public = point_of(browser.public_key())
    one, other = (seal(text, public, auth) for text in (b"a", b"b" * TEXT_BYTES))
    assert len(one) == len(other)
    assert one[:16] != other[:16]
    assert [unseal(body, browser, auth) for body in (one, other)] == [b"a", b"b" * TEXT_BYTES]


def test_another_browser_or_a_changed_byte_reads_nothing():
    browser, auth = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
    body = seal(b"hello", point_of(browser.public_key()), auth)
    with pytest.raises(ValueError, match="another browser"):
        unseal(body, ec.generate_private_key(ec.SECP256R1()), auth)
    with pytest.raises(ValueError, match="another browser"):
        unseal(body[:-1] + bytes([body[-1] ^ 1]), browser, auth)


@for_every(
    ("public", "auth"), [(b"\x04" * 65, bytes(16)), (b"", bytes(16)), (read_unpadded(BROWSER_PUBLIC), bytes(15))]
)
def test_keys_that_cannot_be_are_refused(public, auth):
    with pytest.raises(ValueError):
        seal(b"hello", public, auth)


@for_every("text", ["é", "a", "a b"])
def test_what_is_no_base64url_is_refused(text):
    with pytest.raises(ValueError):
        read_unpadded(text)
