"""A real API server of Kubernetes for custom resources, over a real etcd. It has no pods: a door before it serves those of a test.

``k8s.io/apiextensions-apiserver`` is the part of Kubernetes that stores and validates custom resources. Pods are of the core
API, which it does not have, so the door answers ``/api/v1/namespaces/…/pods`` itself and passes on everything else.
"""

from __future__ import annotations

import datetime
import json
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import HTTPSHandler, Request, build_opener

from airflow_provider_ckpt.errors import EngineError
from tests.ports import free_ports

SERVER = Path(__file__).parents[3] / ".kubernetes" / "apiextensions-apiserver"
WITHOUT = "NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy"


class ApiServer:
    """An API server, until ``close``.

    Args:
        root: A directory of its own.
        pods: Gives the pods of a namespace with a label.

    Attributes:
        url: The door, over HTTP, with the rights of the test.
        direct: The server itself, which asks for the certificate of a client.
    """

    def __init__(
        self, root: Path, pods: Callable[[str, str], list[dict[str, Any]]] = lambda namespace, label: []
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.files = certificates(root)
        client, peer, secure = free_ports(3)
        self.direct = f"https://127.0.0.1:{secure}"
        (root / "kubeconfig").write_text(json.dumps(self.kubeconfig))
        with (root / "etcd.log").open("ab") as log:
            words = ["etcd", "--data-dir", str(root / "etcd"), "--unsafe-no-fsync"]
            words += [
                "--listen-client-urls",
                f"http://127.0.0.1:{client}",
                "--advertise-client-urls",
                f"http://127.0.0.1:{client}",
            ]
            words += ["--listen-peer-urls", f"http://127.0.0.1:{peer}"]
            self._processes = [subprocess.Popen(words, stdout=log, stderr=log)]
        with (root / "server.log").open("ab") as log:
            words = [str(SERVER), "--etcd-servers", f"http://127.0.0.1:{client}", "--secure-port", str(secure)]
            words += ["--bind-address", "127.0.0.1", "--client-ca-file", self.files["ca.crt"]]
            words += ["--tls-cert-file", self.files["server.crt"], "--tls-private-key-file", self.files["server.key"]]
            words += [
                "--authentication-skip-lookup",
                "--disable-admission-plugins",
                WITHOUT,
                "--enable-priority-and-fairness=false",
            ]
            words += [f"--{kind}kubeconfig={root / 'kubeconfig'}" for kind in ("", "authentication-", "authorization-")]
            self._processes.append(subprocess.Popen(words, stdout=log, stderr=log))
        tls = ssl.create_default_context(cafile=self.files["ca.crt"])
        tls.load_cert_chain(self.files["client.crt"], self.files["client.key"])
        self._opener = build_opener(HTTPSHandler(context=tls))
        self._door = ThreadingHTTPServer(("127.0.0.1", 0), _door(self, pods))
        self._door.daemon_threads = True
        threading.Thread(target=self._door.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._door.server_address[1]}"
        try:  # its /readyz waits for the core API, which is not there
            self._wait(
                lambda: self.ask("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")[0] == 200, root
            )
        except BaseException:
            self.close()
            raise

    @property
    def kubeconfig(self) -> dict[str, Any]:
        """How a client reaches the server itself."""
        return {
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "spark"}}],
            "clusters": [
                {"name": "test", "cluster": {"server": self.direct, "certificate-authority": self.files["ca.crt"]}}
            ],
            "users": [
                {
                    "name": "test",
                    "user": {"client-certificate": self.files["client.crt"], "client-key": self.files["client.key"]},
                }
            ],
        }

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        """A request, with the rights of the test."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = Request(
            f"{self.direct}{path}", data, {"Content-Type": "application/json", **(headers or {})}, method=method
        )
        try:
            with self._opener.open(request, timeout=30) as response:
                return response.status, response.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()

    def define(self, crd: dict[str, Any]) -> None:
        """Install or replace a custom resource definition, and wait until it is served."""
        path, name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd["metadata"]["name"]
        status, _ = self.ask("DELETE", f"{path}/{name}")
        self._wait(lambda: self.ask("GET", f"{path}/{name}")[0] == 404)
        status, said = self.ask("POST", path, crd)
        assert status == 201, said
        served = f"/apis/{crd['spec']['group']}/{crd['spec']['versions'][0]['name']}/{crd['spec']['names']['plural']}"
        self._wait(lambda: self.ask("GET", served)[0] == 200)

    def close(self) -> None:
        """End it."""
        self._door.shutdown()
        self._door.server_close()
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(30)

    @staticmethod
    def _wait(is_so: Callable[[], bool], root: Path | None = None) -> None:
        until = time.monotonic() + 60
        while True:
            with suppress(OSError):
                if is_so():
                    return
            if time.monotonic() > until:
                raise EngineError(
                    f"the API server did not come: {(root / 'server.log').read_text()[-2000:] if root else ''}"
                )
            time.sleep(0.1)


def _door(server: ApiServer, pods: Callable[[str, str], list[dict[str, Any]]]) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else None
            parts = urlsplit(self.path)
            if parts.path.startswith("/api/v1/namespaces/") and parts.path.endswith("/pods"):
                label = parse_qs(parts.query)["labelSelector"][0]
                found = pods(parts.path.split("/")[4], label)
                status, said = 200, json.dumps({"kind": "PodList", "metadata": {}, "items": found}).encode()
            else:
                passed = {key: self.headers[key] for key in ("Accept", "Content-Type") if self.headers.get(key)}
                status, said = server.ask(self.command, self.path, body, passed)
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    return Door


def certificates(root: Path) -> dict[str, str]:
    """A CA, and of it a server at 127.0.0.1 and a client that may do everything; paths by name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    now, paths = datetime.datetime.now(datetime.UTC), {}
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    for who in ("ca", "server", "client"):
        key = ca_key if who == "ca" else ec.generate_private_key(ec.SECP256R1())
        name = [x509.NameAttribute(NameOID.COMMON_NAME, who if who != "ca" else "test")]
        if who == "client":
            name.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"))
        made = x509.CertificateBuilder(ca_name, x509.Name(name), key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(
            now + datetime.timedelta(days=2)
        )
        made = made.add_extension(x509.BasicConstraints(ca=who == "ca", path_length=None), critical=True)
        if who == "server":
            import ipaddress

            names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        made = made.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        if who == "ca":
            usage = dict.fromkeys(
                (
                    "digital_signature",
                    "content_commitment",
                    "key_encipherment",
                    "data_encipherment",
                    "key_agreement",
                    "crl_sign",
                    "encipher_only",
                    "decipher_only",
                ),
                False,
            )
            made = made.add_extension(x509.KeyUsage(key_cert_sign=True, **usage), critical=True)
        pem = serialization.Encoding.PEM
        paths[f"{who}.crt"], paths[f"{who}.key"] = str(root / f"{who}.crt"), str(root / f"{who}.key")
        (root / f"{who}.crt").write_bytes(made.sign(ca_key, hashes.SHA256()).public_bytes(pem))
        plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (root / f"{who}.key").write_bytes(key.private_bytes(pem, *plain))
    return paths
