"""Opening the API of a cluster of Kubernetes: by a connection of Airflow, a kubeconfig, or from inside of it."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.engines.kubeconfig import Access, parse_kubeconfig
from airflow_provider_ckpt.engines.manifest import load_yaml
from airflow_provider_ckpt.engines.rest import Rest
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.limits import MIB

#: Where a pod finds how to reach its cluster.
IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: Seconds that a program has which gives credentials.
PROGRAM_S = 60.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster.

    Args:
        rest: Its API.
        namespace: The namespace where none is said.
    """

    rest: Rest
    namespace: str


def open_cluster(connection: Connection | None) -> Cluster:
    """The API of a cluster.

    Args:
        connection: A connection of the type ``kubernetes``, which is read as Airflow's hook reads it; None for the
            kubeconfig of the environment, or for the cluster in which this runs.

    Raises:
        EngineError: It is not said how to reach it, or not so that it can be.
    """
    said = {} if connection is None else _said(connection)
    try:
        access = _access(said)
        if namespace := said.get("namespace"):
            access = replace(access, namespace=str(namespace))
        if access.command:
            access = _from_program(access)
        token = access.token
        if token is None and access.token_file:
            token = Path(access.token_file).read_text().strip()
        tls = _tls(access) if access.server.startswith("https:") else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        where = f"the connection {connection.id}" if connection is not None else "the kubeconfig"
        raise EngineError(
            f"{where} does not say how to reach Kubernetes: {error}.",
            hint="Nothing was done. It needs a kubeconfig (kube_config, kube_config_path, $KUBECONFIG, "
            "~/.kube/config), or in_cluster.",
        ) from None
    name = "kubeconfig" if connection is None else connection.id
    reached = Connection(name, access.server, password=token)
    port = 443 if tls is not None else 80
    return Cluster(Rest("Kubernetes", reached, port, tls=tls), access.namespace)


def _said(connection: Connection) -> dict[str, Any]:
    """What the extra says, also by the longer names that older versions of Airflow have written."""
    return {key.removeprefix("extra__kubernetes__"): value for key, value in connection.extra.items() if value != ""}


def _access(said: Mapping[str, Any]) -> Access:
    context = said.get("cluster_context")
    if config := said.get("kube_config"):
        return parse_kubeconfig(config if isinstance(config, dict) else load_yaml(str(config)), context)
    if said.get("in_cluster") in (True, "True", "true"):
        return _in_cluster()
    given = said.get("kube_config_path") or os.environ.get("KUBECONFIG")
    path = Path(str(given) if given else "~/.kube/config").expanduser()
    if not given and not path.exists() and IN_CLUSTER.exists():
        return _in_cluster()
    access = parse_kubeconfig(load_yaml(path.read_text()), context)
    files = {"ca_file": access.ca_file, "certificate_file": access.certificate_file, "key_file": access.key_file}
    beside = {key: str(path.parent / value) for key, value in files.items() if value}  # as kubectl reads them
    return replace(access, **beside)  # type: ignore[arg-type]  # all are texts


def _in_cluster() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    return Access(
        f"https://{host}:{port}",
        (IN_CLUSTER / "namespace").read_text().strip(),
        ca_file=str(IN_CLUSTER / "ca.crt"),
        token_file=str(IN_CLUSTER / "token"),
    )


def _from_program(access: Access) -> Access:
    """With what the program of the kubeconfig gives, such as that of a cloud."""
    asked = {"apiVersion": access.command_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {**os.environ, **access.environment, "KUBERNETES_EXEC_INFO": json.dumps(asked)}
    try:
        done = subprocess.run(
            access.command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROGRAM_S,
            check=True,
        )
    except subprocess.SubprocessError as error:
        raise EngineUnknownError(
            f"{access.command[0]} of the kubeconfig gives no credentials: {type(error).__name__}.",
            hint="Nothing is known of the query. Run it by hand.",
        ) from None
    given = parse_json(done.stdout[:MIB])["status"]
    return replace(
        access,
        token=given.get("token", access.token),
        certificate=given.get("clientCertificateData", access.certificate),
        key=given.get("clientKeyData", access.key),
    )


def _tls(access: Access) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=access.ca_file, cadata=access.ca)
    if not access.verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with ExitStack() as stack:
        certificate = access.certificate_file or _file(stack, access.certificate)
        key = access.key_file or _file(stack, access.key)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    return context


def _file(stack: ExitStack, text: str | None) -> str | None:
    """A text as a file, which ssl reads alone."""
    if text is None:
        return None
    file = stack.enter_context(tempfile.NamedTemporaryFile("w"))  # noqa: SIM115 # the stack closes it
    file.write(text)
    file.flush()
    return file.name
