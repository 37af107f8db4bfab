"""How a cluster of Kubernetes is reached, as a kubeconfig says it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Access:
    """How a cluster is reached. What is secret is not shown.

    Args:
        server: URL of its API.
        namespace: The namespace where none is said.
        ca: What its certificate is proved by, PEM; None for what the system trusts.
        ca_file: The same as a file.
        verify: False where nobody asks for its certificate.
        certificate: Of the client, PEM; the same as a file.
        key: Of the client, PEM; the same as a file.
        token: What is sent as bearer; the same as a file.
        command: Words of a program that gives the token or the certificate, with what its environment has besides.
    """

    server: str
    namespace: str = "default"
    ca: str | None = None
    ca_file: str | None = None
    verify: bool = True
    certificate: str | None = field(default=None, repr=False)
    certificate_file: str | None = None
    key: str | None = field(default=None, repr=False)
    key_file: str | None = None
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    command_version: str = ""


def parse_kubeconfig(said: Any, context: str | None = None) -> Access:
    """The access that a kubeconfig gives.

    Args:
        said: Its value.
        context: The context; None for its current one.

    Raises:
        ValueError: It gives none; the message says why.
    """
    if not isinstance(said, dict):
        raise ValueError("it is no kubeconfig")
    name = context or said.get("current-context")
    if not name:
        raise ValueError("it has no current-context, and no other was said")
    chosen = _named(said, "contexts", name, "context")
    cluster = _named(said, "clusters", chosen.get("cluster"), "cluster")
    user = _named(said, "users", chosen.get("user"), "user") if chosen.get("user") else {}
    if not isinstance(cluster.get("server"), str):
        raise ValueError(f"its cluster {chosen.get('cluster')} has no server")
    if "auth-provider" in user:
        raise ValueError(f"its user {chosen.get('user')} has an auth-provider, which Kubernetes has replaced by exec")
    program = user.get("exec") or {}
    token = user.get("token")
    return Access(
        server=cluster["server"],
        namespace=chosen.get("namespace") or "default",
        ca=_decoded(cluster, "certificate-authority-data"),
        ca_file=cluster.get("certificate-authority"),
        verify=cluster.get("insecure-skip-tls-verify") is not True,
        certificate=_decoded(user, "client-certificate-data"),
        certificate_file=user.get("client-certificate"),
        key=_decoded(user, "client-key-data"),
        key_file=user.get("client-key"),
        token=str(token) if token is not None else None,
        token_file=user.get("tokenFile"),
        command=(str(program["command"]), *map(str, program.get("args") or ())) if program.get("command") else (),
        environment={str(each["name"]): str(each["value"]) for each in program.get("env") or ()},
        command_version=str(program.get("apiVersion", "")),
    )


def _named(said: Mapping[str, Any], key: str, name: Any, inside: str) -> dict[str, Any]:
    entries = said.get(key)
    for entry in entries if isinstance(entries, Sequence) else ():
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(inside), dict):
            return dict(entry[inside])
    raise ValueError(f"it has no {inside} {name!s:.80}")


def _decoded(said: Mapping[str, Any], key: str) -> str | None:
    if key not in said:
        return None
    try:
        return base64.b64decode(str(said[key]), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError(f"its {key} is not base64") from None
