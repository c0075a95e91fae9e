"""The Helm chart, rendered by Helm and checked against the schemas of Kubernetes.

`make test-deploy` installs Helm's library and the schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.test_deploy import check_unprivileged
from yaie.base.settings import SETTINGS, load_settings
from yaie.base.stats import metrics
from yaie.server.http.middleware import OPEN_PATHS
from yaie.server.http.web_server import CLOSE_S

DEPLOY = Path(__file__).parents[1] / "deploy"
CHART = DEPLOY / "helm/yaie"
VERSIONS = ("1.30", "1.37")  # the oldest that the chart allows, and the newest with schemas
VARIABLES = {each.variable for each in SETTINGS.values()}
IN_CLUSTER = {"podSelector": {"matchLabels": {"app": "router"}}}
EVERYTHING: dict[str, Any] = {
    "keys": {"secretName": "yaie-keys"},
    "tls": {"secretName": "yaie-tls"},
    "image": {"pullSecrets": ["registry"]},
    "env": [{"name": "YAIE_LOG_LEVEL", "value": "debug"}],
    "claims": {
        "cache": {"enabled": True, "storageClassName": "nfs", "accessModes": ["ReadWriteMany"]},
        "models": {"existingClaim": "models"},
    },
    "metrics": {"port": 9000, "compat": "vllm", "serviceMonitor": {"enabled": True}},
    "kvEvents": {"enabled": True},
    "autoscaling": {"enabled": True},
    "networkPolicy": {"enabled": True, "from": [IN_CLUSTER], "metricsFrom": [IN_CLUSTER]},
    "nodeSelector": {"disk": "fast"},
    "affinity": {"podAntiAffinity": {}},
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
        }
    ],
    "runtimeClassName": "nvidia",
    "priorityClassName": "high",
}


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / name).read_text(encoding="utf-8"))
    return found


CASES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "batches": {"claims": {"batches": {"enabled": True}}},
    "cpu": read("values-cpu.yaml"),
    "gpu": read("values-gpu.yaml"),
    "everything": EVERYTHING,
}


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with changes, as Helm merges them."""
    found = dict(values)
    for name, change in changes.items():
        old = found.get(name)
        is_nested = isinstance(old, dict) and isinstance(change, dict)
        found[name] = merged(old, change) if is_nested else change  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_values_fit_their_schema(case: str) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator(schema).validate(merged(read("values.yaml"), CASES[case]))


def test_the_schema_names_every_value() -> None:
    """A misspelt name is an error of the schema, in every mapping that the chart reads."""

    def check(schema: dict[str, Any], values: dict[str, Any], place: str) -> None:
        if "additionalProperties" not in schema:
            return  # labels, resources, settings
        assert set(values) <= set(schema["properties"]) <= set(values) | {"global"}, place
        for name, value in values.items():
            if isinstance(value, dict):
                check(schema["properties"][name], value, f"{place}.{name}")

    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    check(schema, read("values.yaml"), "values")


@pytest.fixture(scope="module")
def chart() -> Iterator[Any]:
    helm = pytest.importorskip("helm_python", reason="Helm is installed by make test-deploy")
    with helm.Chart.load(str(CHART)) as loaded:
        yield loaded


Objects = dict[str, dict[str, Any]]  # by kind


def rendered(chart: Any, changes: Mapping[str, Any]) -> Objects:
    files = chart.render(dict(changes), name="demo", namespace="prod")
    texts = (text for name, text in sorted(files.items()) if not name.endswith(".txt"))
    found = [each for text in texts for each in yaml.safe_load_all(text) if each]
    by_kind = {each["kind"]: each for each in found}
    assert len(by_kind) == len(found)
    return by_kind


def pod(objects: Objects) -> dict[str, Any]:
    found: dict[str, Any] = objects["Deployment"]["spec"]["template"]["spec"]
    return found


def container(objects: Objects) -> dict[str, Any]:
    (found,) = pod(objects)["containers"]
    return dict(found)


@pytest.mark.integration
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", [*CASES, "plain manifest"])
def test_kubernetes_accepts_each_object(chart: Any, case: str, version: str) -> None:
    schemas = pytest.importorskip(
        "kubernetes_validate", reason="the schemas are installed by make test-deploy"
    )
    if case == "plain manifest":
        text = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
        found = list(yaml.safe_load_all(text))
    else:
        found = list(rendered(chart, CASES[case]).values())
    for each in found:
        if each["kind"] != "ServiceMonitor":  # of the Prometheus operator
            schemas.validate(each, version, strict=True)


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES)
def test_the_pod_is_as_a_scanner_wants_it(chart: Any, case: str) -> None:
    check_unprivileged(pod(rendered(chart, CASES[case])))


@pytest.mark.integration
def test_batches_have_a_volume_and_one_server(chart: Any) -> None:
    objects = rendered(chart, CASES["batches"])
    assert objects["PersistentVolumeClaim"]["metadata"]["name"] == "demo-batches"
    (text,) = objects["ConfigMap"]["data"].values()
    folder = Path(yaml.safe_load(text)["batch_dir"])
    mounts = {each["name"]: each["mountPath"] for each in container(objects)["volumeMounts"]}
    assert folder.is_relative_to(mounts["batches"])
    strategy = objects["Deployment"]["spec"]["strategy"]["rollingUpdate"]
    assert strategy == {"maxSurge": 0, "maxUnavailable": 1}  # the old server holds its lock
    mine = {"claims": {"batches": {"enabled": True, "existingClaim": "mine"}}}
    assert "PersistentVolumeClaim" not in rendered(chart, mine)


@pytest.mark.integration
def test_helm_finds_no_fault() -> None:
    helm = pytest.importorskip("helm_python", reason="Helm is installed by make test-deploy")
    found = helm.lint(str(CHART))
    assert not found["errors"]
    assert [each["error"] for each in found["messages"]] == ["icon is recommended"]


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES)
def test_the_settings_are_those_of_the_server(
    chart: Any, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = rendered(chart, CASES[case])
    ((name, text),) = objects["ConfigMap"]["data"].items()
    (tmp_path / name).write_text(text)
    variables = {each["name"]: each.get("value", "") for each in container(objects)["env"]}
    (mount,) = [each for each in container(objects)["volumeMounts"] if each["name"] == "settings"]
    assert variables["YAIE_CONFIG"] == f"{mount['mountPath']}/{name}"
    monkeypatch.setenv("YAIE_CONFIG", str(tmp_path / name))
    given = {name: value for name, value in variables.items() if name in VARIABLES}
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    settings = load_settings()
    stop_s = container(objects)["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace_s = pod(objects)["terminationGracePeriodSeconds"]
    assert stop_s > 0 and grace_s > stop_s + settings.drain_s + CLOSE_S
    scheme = "HTTPS" if settings.ssl_certfile else "HTTP"
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container(objects)[probe]["httpGet"]
        assert asked["scheme"] == scheme and asked["path"] in OPEN_PATHS
    ports = {each["name"]: each["containerPort"] for each in container(objects)["ports"]}
    assert ports.get("metrics") == settings.metrics_port
    folders = [each["mountPath"] for each in container(objects)["volumeMounts"]]
    assert not settings.ssl_certfile or str(Path(settings.ssl_certfile).parent) in folders


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES)
def test_objects_refer_to_each_other(chart: Any, case: str) -> None:
    objects = rendered(chart, CASES[case])
    spec = objects["Deployment"]["spec"]
    labels = spec["template"]["metadata"]["labels"].items()
    selectors = [spec["selector"]["matchLabels"], objects["Service"]["spec"]["selector"]]
    selectors.append(objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"])
    if "NetworkPolicy" in objects:
        selectors.append(objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"])
    for selector in selectors:
        assert selector and selector.items() <= labels
    ports = {each["name"] for each in container(objects)["ports"]}
    assert {each["targetPort"] for each in objects["Service"]["spec"]["ports"]} <= ports
    volumes = {each["name"] for each in pod(objects)["volumes"]}
    assert {each["name"] for each in container(objects)["volumeMounts"]} == volumes
    claims = [each["persistentVolumeClaim"] for each in pod(objects)["volumes"] if len(each) == 2
              and "persistentVolumeClaim" in each]  # fmt: skip
    made = {objects[kind]["metadata"]["name"] for kind in objects if kind.endswith("Claim")}
    assert made <= {each["claimName"] for each in claims}
    monitor = objects.get("ServiceMonitor")
    if monitor:
        service = objects["Service"]
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        assert wanted <= service["metadata"]["labels"].items()
        (endpoint,) = monitor["spec"]["endpoints"]
        assert endpoint["port"] in {each["name"] for each in service["spec"]["ports"]}
        assert endpoint["path"] == "/metrics"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("claim", "max_surge"),
    [
        ({"enabled": False}, 1),
        ({"enabled": True}, 0),  # a second pod could not mount it on another node
        ({"enabled": True, "accessModes": ["ReadWriteMany"]}, 1),
        ({"enabled": True, "existingClaim": "mine"}, 0),
    ],
)
def test_an_update_ends_with_any_claim(chart: Any, claim: dict[str, Any], max_surge: int) -> None:
    changes = {"claims": {"cache": claim}}
    strategy = rendered(chart, changes)["Deployment"]["spec"]["strategy"]
    assert strategy["rollingUpdate"] == {"maxSurge": max_surge, "maxUnavailable": 1 - max_surge}
    given = {"strategy": {"type": "Recreate"}}
    assert rendered(chart, changes | given)["Deployment"]["spec"]["strategy"] == given["strategy"]


@pytest.mark.integration
def test_the_autoscaler_reads_queued_tokens(chart: Any) -> None:
    objects = rendered(chart, EVERYTHING)
    assert "replicas" not in objects["Deployment"]["spec"]  # or each upgrade would reset them
    spec = objects["HorizontalPodAutoscaler"]["spec"]
    target = objects["Deployment"]
    assert spec["scaleTargetRef"] == {
        "apiVersion": target["apiVersion"],
        "kind": target["kind"],
        "name": target["metadata"]["name"],
    }
    (metric,) = spec["metrics"]
    names = {each.name: each.field for each in metrics()}
    assert names[metric["pods"]["metric"]["name"]] == "num_waiting_tokens"


@pytest.mark.integration
def test_keys_come_from_a_secret(chart: Any) -> None:
    assert "Secret" not in rendered(chart, EVERYTHING)
    assert container(rendered(chart, EVERYTHING))["envFrom"] == [
        {"secretRef": {"name": "yaie-keys"}}
    ]
    assert "envFrom" not in container(rendered(chart, {}))


@pytest.mark.integration
def test_kv_events_are_off_by_default(chart: Any) -> None:
    assert "5557" not in json.dumps(rendered(chart, {}))
    objects = rendered(chart, EVERYTHING)
    ports = {each["name"]: each["containerPort"] for each in container(objects)["ports"]}
    variables = {each["name"]: each.get("value") for each in container(objects)["env"]}
    assert variables["YAIE_KV_EVENTS"] == f"tcp://*:{ports['kv-events']}"
    assert variables["YAIE_KV_EVENTS_REPLAY"] == f"tcp://*:{ports['kv-replay']}"
    # Kubernetes replaces names of earlier variables.
    assert variables["YAIE_KV_EVENTS_TOPIC"] == "kv@$(POD_IP)@$(MODEL_NAME)"
    order = list(variables)
    assert order.index("POD_IP") < order.index("YAIE_KV_EVENTS_TOPIC")
    allowed = objects["NetworkPolicy"]["spec"]["ingress"]
    assert {each["port"] for each in allowed[0]["ports"]} == {"http"}
    assert {each["port"] for each in allowed[1]["ports"]} == {"metrics", "kv-events", "kv-replay"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"replicas": 2, "claims": {"cache": {"enabled": True}}}, "set claims.cache.accessModes"),
        ({"replicas": 2, "claims": {"batches": {"enabled": True}}}, "one server uses a folder"),
        ({"settings": {"port": 9000}}, "settings.port: the chart sets it"),
        ({"settings": {"batch_dir": "/tmp"}}, "settings.batch_dir: the chart sets it"),
        ({"settings": {"api_key": "k"}}, "keys.secretName for keys"),
        ({"settings": {"tool_key": "k"}}, "keys.secretName for keys"),
        ({"replica": 2}, "replica"),
        ({"shutdown": {"drainSeconds": -1}}, "drainSeconds"),
        ({"kvEvents": {"port": 99999}}, "port"),
        ({"metrics": {"compat": "tgi"}}, "compat"),
    ],
)
def test_wrong_values_are_refused_with_the_reason(
    chart: Any, changes: dict[str, Any], reason: str
) -> None:
    helm = pytest.importorskip("helm_python", reason="Helm is installed by make test-deploy")
    with pytest.raises(helm.HelmError, match=reason):
        chart.validate_schema(changes)
        chart.render(changes, name="demo", namespace="prod")
