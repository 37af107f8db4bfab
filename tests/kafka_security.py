"""How the broker of the tests asks who is there: its listeners, users, certificates and ACLs, all made when it starts.

The listener PLAINTEXT is for the tests themselves: whoever comes by it may do everything. The others are for what is
tested.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

#: By listener what it speaks. PROXIED tells clients to come by another port, where tests put a proxy. EXPIRED, ELSEWHERE
#: and MUTUAL are TLS: with a certificate that is too old, with one of another host, and with one of the client as well.
LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "PROXIED": "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "EXPIRED": "SSL",
    "ELSEWHERE": "SSL",
    "MUTUAL": "SSL",
}
#: Users by name, and their passwords. Neither may do anything that no ACL allows.
PASSWORDS = {"reader": "reader-hunter2", "stranger": "stranger-hunter2"}
_LOGIN = "org.apache.kafka.common.security"
_PLAIN_USERS = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
_NOW = dt.datetime.now(dt.UTC)
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, which sign others where it is that of an authority."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, path: Path) -> Path:
        """Both as PEM in one file, as Kafka and librdkafka read them."""
        key = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(key + self.certificate.public_bytes(serialization.Encoding.PEM))
        return path


def certificate(
    name: str, signer: Certificate | None = None, *, host: str | None = None, end: dt.timedelta = _DAY
) -> Certificate:
    """A certificate; without a signer that of an authority. It is valid until so long from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.certificate.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW - 10 * _DAY)
        .not_valid_after(_NOW + end)
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
    )
    names = (
        [x509.DNSName(host)] if host else [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return Certificate(builder.sign(signer.key if signer else key, hashes.SHA256()), key)


class Certificates:
    """The certificates of one broker and of its clients, as files.

    Attributes:
        authority: The certificate that signs the others.
        other_authority: One that signs none of them.
        client: That of a client whom the authority knows.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir()
        authority = certificate("authority of the tests")
        own = {
            "SSL": certificate("broker", authority),
            "EXPIRED": certificate("broker", authority, end=-_DAY),
            "ELSEWHERE": certificate("broker", authority, host="elsewhere.example"),
        }
        self.authority = self._public(root, "authority", authority)
        self.other_authority = self._public(root, "other-authority", certificate("another authority"))
        self.client = certificate("client", authority).write(root / "client.pem")
        self._keys = {name: item.write(root / f"{name}.pem") for name, item in own.items()}

    def of(self, listener: str) -> Path:
        """The certificate and the key of a listener."""
        return self._keys.get(listener, self._keys["SSL"])

    @staticmethod
    def _public(root: Path, name: str, item: Certificate) -> Path:
        path = root / f"{name}.pem"
        path.write_bytes(item.certificate.public_bytes(serialization.Encoding.PEM))
        return path


def listener_properties(ports: Mapping[str, int], proxy: int, certificates: Certificates) -> dict[str, str]:
    """The configuration of the broker's listeners, which have these ports, and of who may do what."""
    advertised = {**ports, "PROXIED": proxy}
    found = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{advertised[name]}" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
        "num.network.threads": "1",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN,OAUTHBEARER",
        "connection.failed.authentication.delay.ms": "10",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:CN=client",
    }
    for name, protocol in LISTENERS.items():
        prefix = f"listener.name.{name.lower()}"
        if protocol.startswith("SASL"):
            found |= {
                f"{prefix}.scram-sha-256.sasl.jaas.config": f"{_LOGIN}.scram.ScramLoginModule required;",
                f"{prefix}.plain.sasl.jaas.config": f"{_LOGIN}.plain.PlainLoginModule required {_PLAIN_USERS};",
                f"{prefix}.oauthbearer.sasl.jaas.config": f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required;",
            }
        if protocol.endswith("SSL"):
            found |= {
                f"{prefix}.ssl.keystore.type": "PEM",
                f"{prefix}.ssl.keystore.location": str(certificates.of(name)),
            }
    found |= {
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.mutual.ssl.truststore.type": "PEM",
        "listener.name.mutual.ssl.truststore.location": str(certificates.authority),
    }
    return found


def scram_users() -> list[str]:
    """Options of the tool that formats the storage: the users of SCRAM."""
    users = (f"SCRAM-SHA-256=[name={name},password={password}]" for name, password in PASSWORDS.items())
    return [word for user in users for word in ("--add-scram", user)]
