"""A real YARN, ResourceManager and NodeManager in one JVM, from ``tests/yarn.xml``; its client is spark-submit of pip's Spark."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from airflow_provider_ckpt.engines.find_processes import find_processes
from tests.ports import free_ports

JARS = Path(__file__).parents[3] / ".yarn"
#: Containers are cheap, many run on one machine, and nothing looks at its disks or at virtual memory.
CONFS = {
    "yarn.minicluster.yarn.nodemanager.resource.memory-mb": "16384",
    "yarn.nodemanager.resource.memory-mb": "16384",
    "yarn.nodemanager.resource.cpu-vcores": "64",
    "yarn.scheduler.minimum-allocation-mb": "256",
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    "yarn.resourcemanager.am.max-attempts": "4",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.nodemanager.disk-health-checker.enable": "false",
    "yarn.nodemanager.delete.debug-delay-sec": "0",
    "yarn.minicluster.fixed.ports": "true",
    "yarn.nodemanager.localizer.cache.target-size-mb": "4096",
}
#: They keep their ports when the ResourceManager starts again.
SERVERS = (
    *(
        f"yarn.resourcemanager.{server}address"
        for server in ("", "scheduler.", "resource-tracker.", "admin.", "webapp.")
    ),
    *(f"yarn.nodemanager.{server}address" for server in ("", "localizer.", "webapp.")),
)


class YarnCluster:
    """A cluster, until ``close``; it ends with this process as well.

    Args:
        root: A directory of its own.

    Attributes:
        url: Where its ResourceManager answers.
        confs: The directory for ``HADOOP_CONF_DIR``.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True)
        with (root / "yarn.log").open("ab") as log:
            port = launch_gateway(
                classpath=os.pathsep.join(map(str, sorted(JARS.glob("*.jar")))),
                javaopts=["-Xmx768m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
                die_on_exit=True,
                cwd=str(root),
                redirect_stdout=log,
                redirect_stderr=log,
            )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        jvm: Any = self._gateway.jvm
        conf = jvm.org.apache.hadoop.yarn.conf.YarnConfiguration()
        ports = dict(zip(SERVERS, free_ports(len(SERVERS)), strict=True))
        for key, value in {**CONFS, **{server: f"127.0.0.1:{port}" for server, port in ports.items()}}.items():
            conf.set(key, value)
        self._cluster = jvm.org.apache.hadoop.yarn.server.MiniYARNCluster("ckpt", 1, 1, 1)
        self._cluster.init(conf)
        self._cluster.start()
        if not self._cluster.waitForNodeManagersToConnect(60_000):
            raise TimeoutError("the NodeManager did not come")
        effective = self._cluster.getConfig()
        self.url = f"http://{effective.get('yarn.resourcemanager.webapp.address')}"
        self.confs = root / "confs"
        self.confs.mkdir()
        out = jvm.java.io.FileOutputStream(str(self.confs / "yarn-site.xml"))
        effective.writeXml(out)
        out.close()
        (self.confs / "core-site.xml").write_text("<configuration/>\n")

    def forget(self) -> None:
        """Restart the ResourceManager, which has no store of its state: it knows no application any more."""
        self._cluster.restartResourceManager(0)

    def close(self) -> None:
        """End it, and what is left of its containers."""
        with suppress(Exception):
            self._cluster.stop()
        with suppress(Exception):
            self._gateway.shutdown()
        for process in find_processes():
            if any(str(self._root) in word for word in process.words) and process.pid != os.getpid():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
