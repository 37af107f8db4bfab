"""A kubeconfig says how a cluster is reached, and shows nothing that is secret."""

from __future__ import annotations

import base64
import copy

import pytest

from airflow_provider_ckpt.engines.kubeconfig import Access, parse_kubeconfig

CONFIG = {
    "current-context": "shop",
    "contexts": [
        {"name": "shop", "context": {"cluster": "one", "user": "ann", "namespace": "spark"}},
        {"name": "bare", "context": {"cluster": "one"}},
    ],
    "clusters": [
        {
            "name": "one",
            "cluster": {"server": "https://k8s:6443", "certificate-authority-data": base64.b64encode(b"PEM").decode()},
        }
    ],
    "users": [{"name": "ann", "user": {"token": "hush-hush"}}],
}


def test_the_current_context_counts_and_another_one_when_it_is_named():
    access = parse_kubeconfig(CONFIG)
    assert access == Access("https://k8s:6443", "spark", ca="PEM", token="hush-hush")
    assert "hush" not in repr(access)
    assert parse_kubeconfig(CONFIG, "bare") == Access("https://k8s:6443", "default", ca="PEM")


def test_a_program_is_kept_with_its_words():
    config = copy.deepcopy(CONFIG)
    config["users"][0]["user"] = {
        "exec": {
            "command": "aws",
            "args": ["eks", "get-token"],
            "env": [{"name": "A", "value": "b"}],
            "apiVersion": "v1",
        }
    }
    access = parse_kubeconfig(config)
    assert (access.command, access.environment, access.command_version) == (
        ("aws", "eks", "get-token"),
        {"A": "b"},
        "v1",
    )


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"current-context": ""}, "it has no current-context"),
        ({"current-context": "x"}, "it has no context x"),
        ({"clusters": None}, "it has no cluster one"),
        ({"users": []}, "it has no user ann"),
        ({"clusters": [{"name": "one", "cluster": {"x": 1}}]}, "its cluster one has no server"),
        ({"users": [{"name": "ann", "user": {"auth-provider": {}}}]}, "has an auth-provider"),
        ({"users": [{"name": "ann", "user": {"client-key-data": "?"}}]}, "its client-key-data is not base64"),
    ],
)
def test_what_says_nothing_is_told(changed, problem):
    with pytest.raises(ValueError, match=problem):
        parse_kubeconfig({**CONFIG, **changed})
    with pytest.raises(ValueError, match="it is no kubeconfig"):
        parse_kubeconfig("text")
