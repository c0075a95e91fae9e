"""The plain Kubernetes manifest, against the code and the image that it deploys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_dockerfile import image_variables, instructions
from yaie.base.settings import SETTINGS, load_settings
from yaie.server.http.middleware import OPEN_PATHS
from yaie.server.http.web_server import CLOSE_S
from yaie.server.routes.endpoint_registry import standard_endpoints

DEPLOY = Path(__file__).parents[1] / "deploy"
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


def probes() -> dict[str, Any]:
    names = ("startupProbe", "readinessProbe", "livenessProbe")
    return {name: container()[name]["httpGet"] for name in names}


def check_unprivileged(pod: dict[str, Any]) -> None:
    """Check what scanners of manifests ask for: no rights, no writable root, bounded resources."""
    assert pod["automountServiceAccountToken"] is False
    of_pod = pod["securityContext"]
    assert of_pod["runAsNonRoot"] is True
    assert min(of_pod["runAsUser"], of_pod["runAsGroup"]) > 0
    assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    writable = {each["name"] for each in pod["volumes"] if "emptyDir" in each}
    writable |= {each["name"] for each in pod["volumes"] if "persistentVolumeClaim" in each}
    for container in pod["containers"]:
        rights = container["securityContext"]
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["capabilities"] == {"drop": ["ALL"]}
        mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
        assert {mounts["/tmp"], mounts["/home/yaie/.cache"]} <= writable
        (state,) = (e["value"] for e in container["env"] if e["name"] == "XDG_STATE_HOME")
        assert Path(state).is_relative_to("/home/yaie/.cache")
        for kind in ("requests", "limits"):
            assert {"cpu", "memory"} <= set(container["resources"][kind])


def test_the_pod_is_as_a_scanner_wants_it() -> None:
    check_unprivileged(pod())


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
    ((_, exposed),) = [each for each in instructions("cpu") if each[0] == "EXPOSE"]
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
    assert given.pop("YAIE_CONFIG") == f"{mount['mountPath']}/{name}"
    assert not set(given) & set(VARIABLES)
    secret = manifest()["Secret"]
    assert container()["envFrom"] == [{"secretRef": {"name": secret["metadata"]["name"]}}]
    variables = image_variables() | secret["stringData"]
    assert set(variables) <= set(VARIABLES)
    assert not {VARIABLES[each] for each in variables} & set(yaml.safe_load(text))
    for variable, value in {**variables, "YAIE_CONFIG": str(tmp_path / name)}.items():
        monkeypatch.setenv(variable, value)
    settings = load_settings()
    assert (settings.host, settings.log_format) == ("0.0.0.0", "json")
    assert settings.has_keys and settings.admin_key
    stop_s = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod()["terminationGracePeriodSeconds"] > stop_s + settings.drain_s + CLOSE_S


def test_the_pod_is_unprivileged_and_has_no_service_links() -> None:
    assert pod()["enableServiceLinks"] is False
    ((_, user),) = [each for each in instructions("cpu") if each[0] == "USER"]
    assert pod()["securityContext"]["runAsUser"] == int(user) > 0
    assert pod()["securityContext"]["runAsNonRoot"]
    volumes = {each["name"] for each in pod()["volumes"]}
    assert {each["name"] for each in container()["volumeMounts"]} == volumes
