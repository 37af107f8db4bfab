"""Why a Kafka broker gave no answer: what the client of librdkafka tells, as one cause, and what to do about it.

The client tells the same many times, in an order of its own, and of a broken connection only that it timed out: the
cause is among what it tells on the side.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

#: As the client names an error: those that begin with an underscore are its own, the others the broker's.
TIMED_OUT, ALL_DOWN = "_TIMED_OUT", "_ALL_BROKERS_DOWN"
#: Where a text begins with the broker, and ends with how long the connection had lived.
_BEFORE = re.compile(r"\A(?:\[thrd:[^\]]*\]: )?(?:(?:\w+://)?\S+:\d+/(?:bootstrap|\d+): )?")
_AFTER = re.compile(r"(?:: broker certificate could not be verified| \(after \d+ms in state ).*\Z")
#: A text of others is shown up to so many characters.
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Complaint:
    """Error or log line of the client.

    Args:
        name: Name of the error, such as ``_TRANSPORT``; empty for a line of the client's log.
        text: Its text, unchanged.
    """

    name: str
    text: str

    @property
    def is_local(self) -> bool:
        """True if the client says so, and not the broker."""
        return self.name.startswith("_") or not self.name


@dataclass(frozen=True, slots=True)
class Cause:
    """Fault of a broker, or of the way in which it is asked.

    Args:
        says: The fault, as the end of a sentence about the question.
        hint: The next step for a person.
        is_final: True if another try gives the same, so that nobody has to wait for one.
        names: Names of errors that have this cause.
        words: Or a text that errors of this cause contain.
    """

    says: str
    hint: str
    is_final: bool
    names: Collection[str] = ()
    words: str = ""

    def has(self, complaint: Complaint) -> bool:
        """True if a complaint has this cause."""
        return complaint.name in self.names or bool(self.words and re.search(self.words, complaint.text))


#: The first that fits a complaint is its cause.
CAUSES = (
    Cause(
        "the broker does not allow it to this user",
        "Give the user the ACLs Describe and DescribeConfigs on the topics.",
        is_final=True,
        names=("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
    ),
    Cause(
        "the broker does not allow it to this user",
        "Give the user the ACL Read on the group.",
        is_final=True,
        names=("GROUP_AUTHORIZATION_FAILED",),
    ),
    Cause(
        "no token could be had for the broker",
        "Check the settings sasl.oauthbearer.* of the Kafka client, or its oauth_cb.",
        is_final=False,
        words="OAUTHBEARER token",
    ),
    Cause(
        "the broker refuses the credentials",
        "Check security.protocol, sasl.mechanism, sasl.username and sasl.password of the Kafka client.",
        is_final=True,
        names=("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED"),
    ),
    Cause(
        "the certificate of the broker could not be verified",
        "Check that ssl.ca.location has the authority that signed it, that it has not expired, and that it is of the "
        "host in bootstrap.servers.",
        is_final=True,
        words="certificate verify failed",
    ),
    Cause(
        "the broker refuses the certificate of the client",
        "Check ssl.certificate.location and ssl.key.location of the Kafka client.",
        is_final=True,
        words="(?i)alert (bad|unknown|unsupported|expired|revoked)? ?certificate|alert unknown ca",
    ),
    Cause(
        "the broker ended the connection",
        "Check security.protocol of the Kafka client: this port may be one without TLS.",
        is_final=False,
        words="connecting to a PLAINTEXT broker listener",
    ),
    Cause(
        "its host is not known",
        "Check bootstrap.servers.",
        is_final=False,
        names=("_RESOLVE",),
    ),
    Cause(
        "the broker did not answer",
        "Check that it runs, and bootstrap.servers.",
        is_final=False,
        words="Connection refused",
    ),
    Cause(
        "the broker ended the connection",
        "Check that it runs, and security.protocol of the Kafka client: this port may want TLS or SASL.",
        is_final=False,
        words="connection closed by peer|Disconnected",
    ),
)
_SILENT = Cause(
    "the broker did not answer",
    "Check bootstrap.servers and the network; socket.timeout.ms of the Kafka client says how long to wait.",
    is_final=False,
)


def cause_of(complaints: Iterable[Complaint]) -> tuple[Cause, Complaint | None]:
    """The cause of several complaints, and the one that says most about it.

    What the broker itself has answered counts before what the client tells.
    """
    found = list(complaints)
    for some in ([item for item in found if not item.is_local], found):
        for cause in CAUSES:
            for complaint in some:
                if cause.has(complaint):
                    return cause, complaint
    told = [item for item in found if item.text and item.name not in (TIMED_OUT, ALL_DOWN)]
    return _SILENT, next(iter(told), None)


def is_final(complaints: Collection[Complaint]) -> bool:
    """True if no broker can be reached any more, for a cause that another try does not change."""
    return any(item.name == ALL_DOWN for item in complaints) and cause_of(complaints)[0].is_final


def plain(text: str) -> str:
    """A text of the client without what differs each time, so that it can be told from another one."""
    shown = _AFTER.sub("", _BEFORE.sub("", text.strip())).strip()
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
