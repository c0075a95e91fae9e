"""The manifest for KubeRay, against the settings and the application that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from yaie.base.settings import SETTINGS, load_settings

MANIFEST = Path(__file__).parents[2] / "deploy" / "ray" / "rayservice.yaml"
SECRETS = {SETTINGS[name].variable for name in ("api_key", "admin_key", "tool_key")}


def objects() -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in yaml.safe_load_all(MANIFEST.read_text())}


def serve_config() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(objects()["RayService"]["spec"]["serveConfigV2"])
    return found


def test_the_arguments_are_settings_without_keys() -> None:
    (application,) = serve_config()["applications"]
    assert application["import_path"] == "yaie.ray:app"
    settings = load_settings(**application["args"])
    assert settings.memory_bytes == 2 * 2**30
    assert set(objects()["Secret"]["stringData"]) <= SECRETS


def test_the_engines_fit_a_worker() -> None:
    spec = objects()["RayService"]["spec"]["rayClusterConfig"]
    settings = load_settings(**serve_config()["applications"][0]["args"])
    (group,) = spec["workerGroupSpecs"]
    pod = group["template"]["spec"]
    (container,) = pod["containers"]
    most = settings.max_replicas or settings.replicas
    per_worker = int(container["resources"]["limits"]["cpu"]) // (settings.threads or 1)
    assert per_worker * group["maxReplicas"] == most
    assert per_worker * group["replicas"] == settings.replicas
    memory = int(container["resources"]["limits"]["memory"].removesuffix("Gi")) * 2**30
    assert per_worker * (settings.memory_bytes or 0) < memory
    assert pod["terminationGracePeriodSeconds"] > settings.drain_s


def test_every_container_has_the_keys_and_the_port() -> None:
    spec = objects()["RayService"]["spec"]["rayClusterConfig"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    name = objects()["Secret"]["metadata"]["name"]
    port = serve_config()["http_options"]["port"]
    for group in groups:
        (container,) = group["template"]["spec"]["containers"]
        assert container["envFrom"] == [{"secretRef": {"name": name}}]
        assert {"name": "serve", "containerPort": port} in container["ports"]


def test_no_container_has_rights_beyond_its_user() -> None:
    spec = objects()["RayService"]["spec"]["rayClusterConfig"]
    pods = [
        group["template"]["spec"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])
    ]
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert rights == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
            assert {"cpu", "memory"} <= set(container["resources"]["limits"])
    assert pods[-1]["automountServiceAccountToken"] is False
