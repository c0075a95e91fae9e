"""Settings of both Ray services, and starts that fail. Needs Ray, not a cluster."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from yaie.base.errors import ConfigError
from yaie.base.settings import load_settings

pytestmark = pytest.mark.integration
pytest.importorskip("ray.serve", reason="needs the extra yaie[ray]: make test-ray")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"api_key": "sesame"}, "api_key would be stored in Ray's control store; set YAIE_API_KEY"),
        ({"ssl_certfile": "a", "ssl_keyfile": "b"}, "ssl_certfile does not apply behind Ray's"),
        ({"metrics_port": "9"}, "metrics_port does not apply behind Ray's proxy; use /metrics"),
        ({"batch_dir": "b"}, "batch_dir does not apply behind Ray's proxy; use `yaie batch --url`"),
        ({"models": "a=b"}, "replicas serve one model; run one service for each model"),
        ({"kv_events": "tcp://*:5557"}, "kv_events does not apply to replicas on Ray"),
        ({"kv_block_size": "32"}, "kv_block_size is 32, and the router of replicas needs 16"),
        ({"replicas": "2"}, "2 replicas may share a node"),
        ({"replicas": "1", "max_replicas": "3"}, "3 replicas may share a node"),
        ({"replicas": "0"}, "--replicas is 0"),
        ({"replica": "2"}, "replica is not a setting; did you mean replicas?"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], message: str) -> None:
    from yaie.ray import app

    with pytest.raises(ConfigError) as caught:
        app(given)
    assert message in str(caught.value)


def test_the_ingress_refuses_a_node_without_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from yaie.ray.application import IngressReplica

    with pytest.raises(ConfigError, match="set YAIE_API_KEY in the environment of every Ray node"):
        IngressReplica(None, {}, ("api_key",))
    monkeypatch.setenv("YAIE_API_KEY", "sesame")
    IngressReplica(None, {}, ("api_key",))


def test_a_built_config_has_the_router_and_no_key(tmp_path: Path) -> None:
    built = tmp_path / "serve.yaml"
    command = [str(Path(sys.executable).parent / "serve"), "build", "yaie.ray:built"]
    variables = {"REPLICAS": "2", "MAX_REPLICAS": "4", "NUM_SLOTS": "4k", "API_KEY": "sesame"}
    variables |= {"MAX_RUNNING": "2", "MAX_WAITING": "3"}
    environment = {f"YAIE_{name}": value for name, value in variables.items()}
    subprocess.run(
        [*command, "-o", str(built)], env={**os.environ, **environment}, check=True, timeout=60
    )
    text = built.read_text()
    (application,) = yaml.safe_load(text)["applications"]
    engine, ingress = application["deployments"]
    router = engine["request_router_config"]["request_router_class"]
    assert router == "yaie.ray.radix_router:RadixRouter"
    assert engine["autoscaling_config"]["max_replicas"] == 4
    assert engine["max_ongoing_requests"] > 100  # a full engine refuses, Ray would let it wait
    assert ingress["name"] == "Ingress" and "sesame" not in text


def test_a_start_that_fails_leaves_no_ray_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray Serve starts Ray for whatever is asked of it, a shutdown too."""
    import ray

    from yaie.ray.local_deployment import LocalDeployment

    starts = []

    def fail(**options: Any) -> None:
        starts.append(options)
        raise RuntimeError("The current node timed out during startup")

    async def start_and_stop() -> None:
        deployment = LocalDeployment(load_settings(replicas="2"), pytest.fail)
        with pytest.raises(RuntimeError, match="timed out"):
            await deployment.open()
        await deployment.close()

    monkeypatch.setattr(ray, "init", fail)
    asyncio.run(start_and_stop())
    assert len(starts) == 1
