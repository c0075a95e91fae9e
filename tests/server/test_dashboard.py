"""The Grafana dashboard: each query, on the metrics of a server and in a real Prometheus."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.server.conftest import MakeApp
from tests.server.real_server import Server
from yaie.base.stats import metrics
from yaie.ray.radix_placement import Placement
from yaie.ray.route import Route
from yaie.ray.router_metrics import RouterLog

DASHBOARD = Path(__file__).parents[2] / "deploy/grafana/yaie.json"
# Rows whose series exist only with Ray Serve, or only on a device with separate memory.
ROUTER = ("yaie_router_", "yaie_replicas")
DEVICE = {f"yaie_{name}" for name in ("device_used_bytes", "device_reserved_bytes")}
DEVICE.add("yaie_device_total_bytes")
# Labels of the queries, whatever the metric: Prometheus adds `instance`.
ADDED = {"instance", "le"}
INTERVAL_S = 1
WAIT_S = 60.0


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [each for each in found if each["type"] != "row"]


def queries() -> dict[str, str]:
    """Return each query by panel and letter."""
    return {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in panels()
        for target in panel["targets"]
    }


def names_in(query: str) -> set[str]:
    return set(re.findall(r"\b(?:yaie|process)_\w+", query))


def labels_in(query: str) -> set[str]:
    """Return the labels that a query selects or groups by."""
    grouped = re.findall(r"by \(([^)]*)\)", query)
    selected = re.findall(r"(\w+)=", query)
    return {name.strip() for group in grouped for name in group.split(",")} | set(selected)


def is_optional(query: str) -> bool:
    return all(name.startswith(ROUTER) or name in DEVICE for name in names_in(query))


def router_metrics() -> Iterable[Metric]:
    """Return the metrics of the router after one request."""
    log, route = RouterLog(), Route()
    route.placement = Placement("a", "hit", 16)
    log.count_answer(route, 16)
    return log.collect()


def test_each_query_names_metrics_and_labels_of_a_server(make_app: MakeApp) -> None:
    http, _ = make_app()
    http.post("/v1/completions", json={"prompt": "x"})
    labels: dict[str, set[str]] = {}
    scraped = text_string_to_metric_families(http.get("/metrics").text)
    for family in (*scraped, *router_metrics()):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    labels["yaie_engine_process_resident_memory_bytes"] = {"model"}  # of a real process only
    known = {each.name for each in metrics()}
    for place, query in queries().items():
        names = names_in(query)
        if names <= DEVICE:
            assert names <= known
            continue
        assert names and names <= set(labels), place
        for name in names:
            assert labels_in(query) <= labels[name] | ADDED, place


def test_the_dashboard_shows_what_operators_ask_for() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    rows = [each["title"] for each in dashboard["panels"] if each["type"] == "row"]
    assert rows == [
        *("Service", "Latency", "Queue", "Throughput", "Prefix cache", "Memory"),
        "Router (with Ray Serve)",
    ]
    ids = [each["id"] for each in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in panels():
        assert panel["description"] and panel["targets"], panel["title"]
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters)
        # Legends name labels of their query.
        for target in panel["targets"]:
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            grouped = re.findall(r"by \(([^)]*)\)", target["expr"])
            assert not grouped or shown <= set(grouped[0].replace(" ", "").split(","))
    variables = {each["name"] for each in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps(dashboard["panels"])))
    assert used - {"__rate_interval"} == variables


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells


class Prometheus:
    """A real Prometheus that scrapes one server each second."""

    def __init__(self, program: str, target: str, folder: Path) -> None:
        config = folder / "prometheus.yml"
        scrape = {
            "job_name": "yaie",
            "scrape_interval": f"{INTERVAL_S}s",
            "static_configs": [{"targets": [target]}],
        }
        config.write_text(json.dumps({"scrape_configs": [scrape]}))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.url = f"http://{address}/api/v1/query"
        command = [program, f"--config.file={config}", f"--web.listen-address={address}"]
        command.append(f"--storage.tsdb.path={folder / 'data'}")
        self._log = folder / "prometheus.log"
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out)

    def query(self, text: str) -> list[dict[str, Any]]:
        """Return the series of an instant query."""
        answer = requests.get(self.url, params={"query": text}, timeout=WAIT_S).json()
        assert answer["status"] == "success", (text, answer)
        series: list[dict[str, Any]] = answer["data"]["result"]
        return series

    def wait(self, is_so: Callable[[], object], what: str) -> None:
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            try:
                if is_so():
                    return
            except requests.ConnectionError:  # not listening yet
                pass
            time.sleep(0.1)
        raise AssertionError(f"not within {WAIT_S} s: {what}\n{self._log.read_text()}")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


@pytest.fixture
def prometheus(server: Server, tmp_path: Path) -> Iterator[Prometheus]:
    program = shutil.which(os.environ.get("PROMETHEUS", "prometheus"))
    if program is None:
        pytest.skip("no prometheus on PATH: install Debian's package, or name it in PROMETHEUS")
    started = Prometheus(program, f"127.0.0.1:{server.port}", tmp_path)
    try:
        yield started
    finally:
        started.stop()


@pytest.mark.integration
def test_a_real_prometheus_answers_each_query(server: Server, prometheus: Prometheus) -> None:
    def scrapes(after: float) -> bool:
        (one,) = prometheus.query(f"count_over_time(yaie_uptime_seconds[{WAIT_S:.0f}s])")
        return float(one["value"][1]) >= after

    def load() -> None:
        """Send answered, repeated, unknown and interrupted requests."""
        body = {"prompt": "a tree " * 20, "max_tokens": 8}
        for _ in range(2):
            assert server.post("/v1/completions", body).ok
        assert server.get("/nothing").status_code == 404

    load()  # series with labels begin with their first event
    prometheus.wait(lambda: prometheus.query("yaie_uptime_seconds"), "a scrape")
    prometheus.wait(lambda: scrapes(2), "two scrapes")
    load()
    server.wait_idle()
    prometheus.wait(lambda: scrapes(4), "four scrapes")
    empty = []
    for place, query in queries().items():
        text = query.replace("$__rate_interval", f"{WAIT_S:.0f}s").replace("$instance", ".*")
        series = prometheus.query(text)
        if is_optional(query):
            continue  # it parses; a CPU and a server without Ray have no such series
        numbers = [float(each["value"][1]) for each in series]
        if not any(map(math.isfinite, numbers)):  # a quantile of a quiet route is NaN
            empty.append((place, query, numbers))
    assert not empty
    text = queries()["Hit rate A"].replace("$__rate_interval", "60s").replace("$instance", ".*")
    (hits,) = prometheus.query(text)
    assert 0.4 < float(hits["value"][1]) < 1  # every second prompt was held
