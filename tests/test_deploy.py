"""The container image and the Kubernetes manifest, against the code that they deploy."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from yaie.base.settings import SETTINGS, load_settings
from yaie.server.http.middleware import OPEN_PATHS
from yaie.server.routes.endpoint_registry import standard_endpoints
from yaie.server.serving import CLOSE_S

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
VARIABLES = {each.variable: name for name, each in SETTINGS.items()}


def manifest() -> dict[str, dict[str, Any]]:
    """Return the objects of the manifest by kind."""
    found = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))
    by_kind = {each["kind"]: each for each in found}
    assert len(by_kind) == len(found)
    return by_kind


def pod() -> dict[str, Any]:
    found: dict[str, Any] = manifest()["Deployment"]["spec"]["template"]["spec"]
    return found


def container() -> dict[str, Any]:
    (found,) = pod()["containers"]
    return dict(found)


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    lines = lines.replace("\\\n", " ")
    found = [line.split(maxsplit=1) for line in lines.splitlines() if line.strip()]
    return [(name, argument.strip()) for name, argument in found]


def image_variables() -> dict[str, str]:
    pairs = [pair for name, rest in instructions() if name == "ENV" for pair in rest.split()]
    return dict(pair.split("=", 1) for pair in pairs)


def probes() -> dict[str, Any]:
    names = ("startupProbe", "readinessProbe", "livenessProbe")
    return {name: container()[name]["httpGet"] for name in names}


def test_the_volume_belongs_to_the_user_of_the_image() -> None:
    steps = instructions()
    volume = next(i for i, (name, _) in enumerate(steps) if name == "VOLUME")
    folder = steps[volume][1]
    made = [rest for name, rest in steps[:volume] if name == "RUN" and "install -d" in rest]
    assert any(re.search(rf"install -d -o yaie -g yaie {folder}$", rest) for rest in made)


def test_every_probe_asks_a_path_that_needs_no_key() -> None:
    served = {each.path for each in standard_endpoints()}
    found = {name: probe["path"] for name, probe in probes().items()}
    assert found == {
        "startupProbe": "/readiness",
        "readinessProbe": "/readiness",
        "livenessProbe": "/liveness",  # of an engine that restarts by itself it is 200
    }
    assert set(found.values()) <= served & OPEN_PATHS


def test_all_ports_are_that_of_the_image() -> None:
    port = int(image_variables()["YAIE_PORT"])
    ((_, exposed),) = [each for each in instructions() if each[0] == "EXPOSE"]
    (listening,) = container()["ports"]
    (service,) = manifest()["Service"]["spec"]["ports"]
    assert int(exposed) == listening["containerPort"] == port
    assert {probe["port"] for probe in probes().values()} == {listening["name"]}
    assert service["targetPort"] == listening["name"]


def test_the_selectors_choose_the_pods() -> None:
    spec = manifest()["Deployment"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == manifest()["Service"]["spec"]["selector"] == labels


def test_the_settings_are_those_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong name or value in file or variables is an error of `load_settings`."""
    ((name, text),) = manifest()["ConfigMap"]["data"].items()
    (tmp_path / name).write_text(text)
    given = {each["name"]: each["value"] for each in container()["env"]}
    (mount,) = [each for each in container()["volumeMounts"] if each["name"] == "settings"]
    assert given == {"YAIE_CONFIG": f"{mount['mountPath']}/{name}"}
    secret = manifest()["Secret"]
    assert container()["envFrom"] == [{"secretRef": {"name": secret["metadata"]["name"]}}]
    variables = image_variables() | secret["stringData"]
    assert set(variables) <= set(VARIABLES)
    assert not {VARIABLES[each] for each in variables} & set(yaml.safe_load(text))
    for variable, value in {**variables, "YAIE_CONFIG": str(tmp_path / name)}.items():
        monkeypatch.setenv(variable, value)
    settings = load_settings()
    assert (settings.host, settings.log_format) == ("0.0.0.0", "json")
    assert settings.api_keys and settings.admin_key
    assert pod()["terminationGracePeriodSeconds"] > settings.drain_s + CLOSE_S


def test_the_pod_is_unprivileged_and_has_no_service_links() -> None:
    assert pod()["enableServiceLinks"] is False
    ((_, user),) = [each for each in instructions() if each[0] == "USER"]
    assert pod()["securityContext"]["runAsUser"] == int(user) > 0
    assert pod()["securityContext"]["runAsNonRoot"]
    volumes = {each["name"] for each in pod()["volumes"]}
    assert {each["name"] for each in container()["volumeMounts"]} == volumes


def test_the_image_installs_the_pinned_torch_and_serves() -> None:
    copied = [
        source for name, rest in instructions() if name == "COPY" for source in rest.split()[:-1]
    ]
    assert copied
    assert all((ROOT / source).exists() for source in copied)
    assert "torch==" in (ROOT / "constraints.txt").read_text(encoding="utf-8")
    installs = [rest for name, rest in instructions() if name == "RUN" and "pip install" in rest]
    assert installs
    assert all(
        rest.count("pip install") == rest.count("-c /tmp/constraints.txt") for rest in installs
    )
    last = dict(instructions())
    assert json.loads(last["CMD"]) == ["yaie", "serve"]
    (health,) = re.findall(r"http://127\.0\.0\.1:%s(/\w+)", last["HEALTHCHECK"])
    assert health in OPEN_PATHS and "YAIE_PORT" in last["HEALTHCHECK"]
    bases = [rest for name, rest in instructions() if name == "FROM"]
    assert all(re.match(r"python:3\.\d+-slim\b", each) for each in bases)
