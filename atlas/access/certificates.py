"""The house's own certificate authority, and the certificate it serves https with, renewed while it runs.

Browsers give a page a microphone only over https, and no public authority vouches for a name that only a house has. So
the house has an authority of its own, which people install once. What they install could vouch for any site, if its key
were stolen; therefore it is *name-constrained* (RFC 5280, 4.2.1.10): a certificate of it counts for names and addresses
that only a house has, and for nothing else. The certificate that is served lasts weeks, and is made anew when two
thirds of them have gone, or when the machine's names or addresses have changed: new connections get the new one.
"""

from __future__ import annotations

import hashlib
import ipaddress
import plistlib
import socket
import ssl
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.to_thread
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from atlas import trace
from atlas.errors import ConfigError
from wall.files import write_whole

CA_DAYS = 20 * 365
LEAF_DAYS = 90  # clients refuse more than 398 to 825
RENEW_PART = 2 / 3  # of its life; then there are weeks left to mend what hinders it
LOOK_SECONDS = 60.0  # how often names, addresses and days are looked at
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)  # valid since then, for a machine may be made before it knows the day
HOUSE_NAMES = ("local", "localhost", "home.arpa", "internal", "lan")  # and all below them
HOUSE_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "127.0.0.0/8", "100.64.0.0/10"),
            *("::1/128", "fc00::/7", "fe80::/10"),
        ),
    )
)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class ServedNames:
    """What the house is reached by."""

    names: tuple[str, ...]
    addresses: tuple[Address, ...]


def names_here(name: str) -> ServedNames:
    """Return the names and addresses of this machine that only a house has; `name` is the one that is announced."""
    machine = socket.gethostname().lower().split(".")[0]
    names = dict.fromkeys((f"{name}.local", "localhost", machine, f"{machine}.local"))
    texts = {"127.0.0.1", "::1"}
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        # Which address a packet would leave by; connecting a datagram socket sends none.
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))
            texts.add(probe.getsockname()[0])
    with suppress(OSError):
        texts |= {str(one[4][0]) for one in socket.getaddrinfo(socket.gethostname(), None)}
    addresses = {ipaddress.ip_address(text.split("%")[0]) for text in texts}
    return ServedNames(tuple(names), tuple(sorted(filter(_only_a_house_has, addresses), key=str)))


def is_of_house(address: str) -> bool:
    """Tell whether a peer's address is one that only a house has: nobody comes in from the internet."""
    return _only_a_house_has(ipaddress.ip_address(address.split("%")[0].removeprefix("::ffff:")))


def _only_a_house_has(address: Address) -> bool:
    return any(address in network for network in HOUSE_NETWORKS if network.version == address.version)


class HouseCertificates:
    """The authority's certificate, and a TLS context that always shows a fresh one of its own."""

    def __init__(self, folder: Path, served: Callable[[], ServedNames], now: Callable[[], float] = time.time) -> None:
        """Read the authority from `folder`, or make it. Raises `ConfigError` when it cannot be read or written."""
        self._folder, self._served, self._now = folder, served, now
        self._shown: ServedNames | None = None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._key, self.authority = self._open_authority()
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.minimum_version = ssl.TLSVersion.TLSv1_2
            self.context.set_alpn_protocols(["http/1.1"])
            self.leaf = self.renew()
        except (OSError, ValueError) as trouble:
            raise ConfigError(
                f"the certificates in {folder} cannot be used: {trouble}",
                hint=f"free the disk or mend its owner; or begin anew and trust it anew: mv {folder} {folder}.old",
            ) from trouble

    @property
    def fingerprint(self) -> str:
        """The authority's SHA-256, as people compare it: pairs of hex digits."""
        digest = hashlib.sha256(self.der).hexdigest().upper()
        return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))

    @property
    def der(self) -> bytes:
        """The authority's certificate, as Android, Windows and browsers install it."""
        return self.authority.public_bytes(Encoding.DER)

    def host_for_others(self, family: socket.AddressFamily) -> str:
        """Return by what other machines reach this one: its address, else its name, which somebody must announce.

        `family` is what is listened on; for IPv6 that is IPv4 too.
        """
        assert self._shown
        taken = (4,) if family == socket.AF_INET else (4, 6)
        reached = [one for one in self._shown.addresses if not one.is_loopback and not one.is_link_local]
        addresses = [one for one in reached if one.version in taken]
        of_old = next((str(one) for one in addresses if one.version == 4), "")
        return of_old or next((f"[{one}]" for one in addresses), self._shown.names[0])

    def profile(self) -> bytes:
        """Return the authority's certificate as a profile of iOS and macOS."""
        number = str(uuid.uuid5(uuid.NAMESPACE_OID, self.fingerprint)).upper()
        name = self.authority.subject.rfc4514_string().removeprefix("CN=")
        common = {"PayloadVersion": 1, "PayloadDisplayName": name}
        root = {
            **common,
            "PayloadType": "com.apple.security.root",
            "PayloadIdentifier": f"house.atlas.ca.{number}",
            "PayloadUUID": number,
            "PayloadContent": self.der,
        }
        return plistlib.dumps(
            {
                **common,
                "PayloadType": "Configuration",
                "PayloadIdentifier": "house.atlas.ca",
                "PayloadUUID": str(uuid.uuid5(uuid.NAMESPACE_OID, number)).upper(),
                "PayloadContent": [root],
            }
        )

    async def watch(self) -> None:
        """Renew what has to be renewed, until cancelled."""
        while True:
            await anyio.sleep(LOOK_SECONDS)
            try:
                if await anyio.to_thread.run_sync(self.is_due):
                    self.leaf = await anyio.to_thread.run_sync(self.renew)
                    trace.line("certificate renewed", until=f"{self.leaf.not_valid_after_utc:%Y-%m-%d}")
            except OSError as trouble:
                trace.line("certificate not renewed", error=trouble)

    def is_due(self) -> bool:
        """Tell whether what is shown is old, is not valid yet, or has other names than the machine."""
        began, ends = self.leaf.not_valid_before_utc, self.leaf.not_valid_after_utc
        now = datetime.fromtimestamp(self._now(), UTC)
        return not began <= now < ends - timedelta(days=LEAF_DAYS) * (1 - RENEW_PART) or self._shown != self._served()

    def renew(self) -> x509.Certificate:
        """Make a certificate for what the house is reached by now, and show it to every new connection."""
        served, key = self._served(), generate_private_key(SECP256R1())
        # Later days than this one are for a clock that was behind: what ends in the past would be refused at once.
        ends = max(datetime.fromtimestamp(self._now(), UTC), BEGAN) + timedelta(days=LEAF_DAYS)
        permitted = [x509.DNSName(name) for name in served.names if self._may_vouch_for(name)]
        leaf = (
            x509.CertificateBuilder()
            .subject_name(_named(served.names[0]))
            .issuer_name(self.authority.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(ends - timedelta(days=LEAF_DAYS + 1))
            .not_valid_after(ends)
            .add_extension(
                x509.SubjectAlternativeName([*permitted, *map(x509.IPAddress, served.addresses)]), critical=False
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        file = self._folder / "leaf.pem"
        write_whole(file, _private(key) + leaf.public_bytes(Encoding.PEM))
        self.context.load_cert_chain(file)
        self._shown = served
        return leaf

    def _may_vouch_for(self, name: str) -> bool:
        """Tell whether the authority covers a name; one that it does not, such as the machine's new one, spoils all."""
        covered = self.authority.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees or ()
        trees = [one.value for one in covered if isinstance(one, x509.DNSName)]
        return any(name == tree or name.endswith(f".{tree}") for tree in trees)

    def _open_authority(self) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
        file = self._folder / "ca.pem"
        if not file.exists():
            key = generate_private_key(SECP256R1())
            write_whole(file, _private(key) + self._new_authority(key).public_bytes(Encoding.PEM))
        both = file.read_bytes()
        read = load_pem_private_key(both, None)
        if not isinstance(read, EllipticCurvePrivateKey):
            raise ValueError(f"{file.name} holds another kind of key")  # noqa: TRY004  # the file is wrong, not us
        return read, x509.load_pem_x509_certificate(both[both.index(b"-----BEGIN CERTIFICATE") :])

    def _new_authority(self, key: EllipticCurvePrivateKey) -> x509.Certificate:
        machine = socket.gethostname().lower().split(".")[0]
        name = _named(f"Atlas at {machine[:40]} ({uuid.uuid4().hex[:4]})")
        now = max(datetime.fromtimestamp(self._now(), UTC), BEGAN)
        names = [
            x509.DNSName(one) for one in HOUSE_NAMES
        ]  # no bare name of a machine: "dev" would be a domain of the world
        usage = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
        ) | {"encipher_only": False, "decipher_only": False}
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(BEGAN)
            .not_valid_after(now + timedelta(days=CA_DAYS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(
                x509.NameConstraints([*names, *map(x509.IPAddress, HOUSE_NETWORKS)], excluded_subtrees=None),
                critical=True,
            )
            .add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
            .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )


def _named(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, common_name)])


def _private(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
