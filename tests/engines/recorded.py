"""Answers of a ResourceManager 3.5.0 and of the REST server of a Master of Spark 4.3.0, as they were, without what nobody reads."""

from __future__ import annotations

SINCE = 1795805772292
APPLICATION = f"application_{SINCE}_0001"
APPS, INFO = "GET /ws/v1/cluster/apps", "GET /ws/v1/cluster/info"
NOT_FOUND = (
    404,
    {"RemoteException": {"exception": "NotFoundException", "message": f"app with id: {APPLICATION} not found"}},
)
STORE = "org.apache.hadoop.yarn.server.resourcemanager.recovery."


def app(state: str, run_id: str = APPLICATION, generation: int = 1, **more: object) -> dict[str, object]:
    tags = f"ckpt-query:orders,ckpt-start:orders-{generation}"
    return {
        "id": run_id,
        "state": state,
        "finalStatus": "UNDEFINED",
        "applicationTags": tags,
        "trackingUrl": "u",
        **more,
    }


def info(store: str = "FileSystemRMStateStore", since: int = SINCE, **more: str) -> dict[str, object]:
    said = {"id": since, "startedOn": since, "state": "STARTED", "haState": "ACTIVE", "rmStateStoreName": STORE + store}
    return {"clusterInfo": {**said, **more}}


DRIVER = "driver-20261127190047-0000"
STATUS, KILL, CREATE = (
    f"GET /v1/submissions/status/{DRIVER}",
    f"POST /v1/submissions/kill/{DRIVER}",
    "POST /v1/submissions/create",
)


def status(state: str | None, **more: object) -> dict[str, object]:
    said = {
        "action": "SubmissionStatusResponse",
        "serverSparkVersion": "4.3.0",
        "submissionId": DRIVER,
        "success": True,
    }
    return {**said, **({} if state is None else {"driverState": state}), **more}
