"""Keeping credentials out of what is stored, logged and shown: the one place that knows what they are like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "***"
#: ``user:password@`` of a URL. A password may hold slashes; digits up to a slash are a port.
_USERINFO = re.compile(r"(?<=://)([^/@:\s'\"]*):(?!\d+(?:/|\Z))[^\s'\"]*@")
#: ``user:password@`` of a place in the declaration of a sink or a source that is no URL, such as ``kafka:u:p@host``.
_OF_DECLARED = re.compile(
    r"(?i)(\b(?:kafka|foreach|foreachbatch|console|noop|memory|unknown):[^/@:\s'\"]{0,200}):(?!//)[^\s'\"]{0,500}@"
)
#: The same of a broker, such as ``u:p@host:9092``, in what its client says.
_OF_BROKER = re.compile(
    r"(?i)(?<![^\s:=,'\"\[(])(?!(?:kafka|foreach|foreachbatch|console|noop|memory|unknown):)"
    r"([^/@:=,\s'\"\[(]{1,100}):[^/\s'\"]{1,100}@(?=[\w.-]{1,255}:\d)"
)
_PARAMETER = re.compile(
    r"(?i)([?&](?:[\w-]*(?:signature|token|secret|password|credential|accesskey|access_key|account_key|api_key)|sig|sas)=)"
    r"[^&\s'\"]+"
)
#: Options of storage drivers whose values are secret, whatever they are like.
_OPTION = re.compile(r"(?i)(\A|_)(key|secret|token|password|passwd|pwd|sas|credentials?|connection_string)(\Z|_)")
#: Settings of Kafka clients whose values are secret: passwords, keys and tokens themselves, not where they are.
_SETTING = re.compile(r"(?i)password|secret|jaas|oauthbearer\.config|\.pem\Z")
#: Names of confs and settings that hold a secret itself, and ends of names that say where one is or how it is used.
_SECRET_CONF = re.compile(
    r"(?i)secret|passw|pwd|token|jaas|credential|(account|access|api|private)[._-]?key|\bsas\b|(?<!by)(?<!com)pass\Z"
)
_ABOUT_SECRET = re.compile(
    r"(?i)[._-](provider|class|type|mechanism|location|path|file|endpoint|conn_id|name|enabled?)\Z"
)
#: Values that are a secret under any name: keys of AWS and Azure, private keys, tokens of GitHub, Slack and Databricks.
_SECRET_VALUE = re.compile(
    r"\b(AKIA|ASIA)[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY|\b(gh[pousr]_[0-9A-Za-z]{30}|github_pat_|xox[abprs]-"
    r"|dapi[0-9a-f]{32}\b|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.)|(?i:\b(shared|account)_?(access)?_?key=|;\s*(token|password)=|\bbearer\s+\S{8})"
)
#: A secret that a value sets among others, such as ``-Djavax.net.ssl.trustStorePassword=``.
_ASSIGNED = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|(?<!by)(?<!com)pass|(?:secret|access|api|private)[._-]?key)"
    r"['\"]?\s*=\s*['\"]?[^\s'\"]"
)
#: A key of an option that is an object in JSON.
_JSON_KEY = re.compile(r'"([^"]+)"\s*:')
#: A shorter secret would hide common words.
_SHORTEST = 6


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """A text without the passwords of its URLs, their signatures and tokens, and without given secrets."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    for userinfo in (_USERINFO, _OF_DECLARED, _OF_BROKER) if "@" in text else ():
        text = userinfo.sub(r"\1@", text)
    return _PARAMETER.sub(rf"\g<1>{HIDDEN}", text)


def without_password(place: str) -> str:
    """A place that nobody opens, such as ``user:password@host:9092``, without its password, whatever that holds."""
    scrubbed = scrub(place)
    userinfo, at, host = scrubbed.rpartition("@")
    return scrubbed if not at or "://" in userinfo else f"{userinfo.partition(':')[0]}@{host}"


def without_secret(word: str) -> str:
    """A word of a command line, such as ``sasl.password=***`` or ``--storage-option=secret=***``."""
    if "={" in word and any(map(_is_secret, _JSON_KEY.findall(word))):
        return f"{word[: word.index('={') + 1]}{HIDDEN}"
    parts = word.split("=")
    secret = next((at for at, part in enumerate(parts[:-1]) if _is_secret(part)), None)
    return word if secret is None else "=".join((*parts[: secret + 1], HIDDEN))


def may_be_secret(key: str, value: str) -> bool:
    """True if a declared value should not be in a file: by its key, as a URL with a password, or as a known key.

    A template such as ``{{ conn.lake.password }}`` is no secret.
    """
    if not value or ("{{" in value and "}}" in value):
        return False
    is_named = bool(_SECRET_CONF.search(key) or _is_secret(key)) and not _ABOUT_SECRET.search(key)
    return is_named or bool(_SECRET_VALUE.search(value) or _ASSIGNED.search(value)) or scrub(value) != value


def secrets_of(location: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The secrets in a location and in the options of a storage driver or of a Kafka client, longest first."""
    found = {value for key, value in _leaves(options) if _is_secret(key)}
    for userinfo in _USERINFO.findall(location):
        found.add(location.partition(f"://{userinfo}:")[2].rpartition("@")[0])
    return tuple(sorted((secret for secret in found if len(secret) >= _SHORTEST), key=len, reverse=True))


def _is_secret(key: str) -> bool:
    return bool(_OPTION.search(key) or _SETTING.search(key))


def _leaves(options: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from _leaves(value)
        elif isinstance(value, str):
            yield str(key), value
