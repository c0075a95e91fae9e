"""The examples for KServe and llm-d, against the chart and the metrics that they use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.test_chart import CHART, merged, read
from tests.test_dockerfile import image_variables
from yaie.base.settings import SETTINGS, load_settings
from yaie.server.http.middleware import OPEN_PATHS
from yaie.server.http.web_server import CLOSE_S

DEPLOY = Path(__file__).parents[1] / "deploy"
LLM_D = DEPLOY / "examples/llm-d"
POD_END_S = 30  # Kubernetes' default; KServe's runtimes have no other


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_runtime_of_kserve_is_a_server_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DEPLOY / "examples/kserve.yaml").read_text(encoding="utf-8")
    runtime, service = yaml.safe_load_all(text)
    model = service["spec"]["predictor"]["model"]
    assert model["runtime"] == runtime["metadata"]["name"]
    formats = {each["name"] for each in runtime["spec"]["supportedModelFormats"]}
    assert model["modelFormat"]["name"] in formats
    (container,) = runtime["spec"]["containers"]
    assert container["name"] == "kserve-container"  # KServe adds the service's model to this one
    port = int(image_variables()["YAIE_PORT"])
    assert [each["containerPort"] for each in container["ports"]] == [port]
    assert runtime["spec"]["annotations"]["prometheus.kserve.io/port"] == str(port)
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["port"] == port and asked["path"] in OPEN_PATHS
    known = {each.variable for each in SETTINGS.values()}
    for variable in container["env"]:
        assert variable["name"] in known
        monkeypatch.setenv(variable["name"], variable["value"])
    settings = load_settings()
    assert settings.drain_s + CLOSE_S < POD_END_S
    assert settings.source == "/mnt/models"  # KServe's mount


def test_the_values_for_llm_d_fit_the_chart() -> None:
    schema = load(CHART / "values.schema.json")
    values = merged(read("values.yaml"), load(LLM_D / "values.yaml"))
    jsonschema.Draft7Validator(schema).validate(values)
    assert values["kvEvents"]["enabled"]
    pool = load(LLM_D / "inference-pool.yaml")
    selector = pool["spec"]["selector"]["matchLabels"]
    assert selector["app.kubernetes.io/name"] == "yaie"
    picker = pool["spec"]["endpointPickerRef"]["name"]
    (peer,) = values["networkPolicy"]["metricsFrom"]
    assert peer["podSelector"]["matchLabels"] == {"app": picker}


def plugins(path: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of the plugins, after a check of the references to them."""
    config = load(path)
    found = {each["type"]: each.get("parameters", {}) for each in config["plugins"]}
    used = [each["pluginRef"] for each in config["schedulingProfiles"][0]["plugins"]]
    for source in config["dataLayer"]["sources"]:
        used += [source["pluginRef"], *(each["pluginRef"] for each in source["extractors"])]
    assert set(used) <= set(found)
    return found


def test_the_picker_of_llm_d_reads_the_events_of_the_chart() -> None:
    found = plugins(LLM_D / "endpoint-picker.yaml")
    values = merged(read("values.yaml"), load(LLM_D / "values.yaml"))
    events = found["precise-prefix-cache-producer"]["kvEventsConfig"]
    assert events["podDiscoveryConfig"] == {
        "socketPort": values["kvEvents"]["port"],
        "replaySocketPort": values["kvEvents"]["replayPort"],
    }
    assert values["kvEvents"]["topic"].startswith(events["topicFilter"])
    assert found["token-producer"]["modelName"] == values["settings"]["model"]
    scorer = found["prefix-cache-scorer"]["prefixMatchInfoProducerName"]
    assert scorer in found


def test_both_pickers_read_the_same_metrics() -> None:
    names = [
        plugins(path)["core-metrics-extractor"]
        for path in (DEPLOY / "endpoint-picker.yaml", LLM_D / "endpoint-picker.yaml")
    ]
    assert names[0] == names[1]
