"""Recorded results: `results.ndjson` has one line for each machine, workload and peer.

A report of `peers` becomes lines (`to_records`) and lines become a report again (`to_reports`), so
that tables and pictures come from the recorded figures. Called by `commands`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parent / "results.ndjson"
_COMMON = ("benchmark", "machine", "model")


def to_records(report: Mapping[str, Any], name: str, commit: str) -> list[dict[str, Any]]:
    """Return one record for each workload and peer of a report.

    `name` is that of the series, such as qwen3-0.6b-shape-zen4; `commit` is the measured one.
    """
    return [
        {
            "series": name,
            "commit": commit,
            **{key: report[key] for key in _COMMON},
            "workload": workload,
            **{key: value for key, value in about.items() if key not in ("peers", "runs")},
            "peer": peer,
            **{"peer_" + key: value for key, value in described.items()},
            "runs": [
                {key: value for key, value in run.items() if key not in ("workload", "peer")}
                for run in about["runs"]
                if run["peer"] == peer
            ],
        }
        for workload, about in report["workloads"].items()
        for peer, described in about["peers"].items()
    ]


def to_reports(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the reports of all series, as `peers` writes them; runs are ordered by round."""
    reports: dict[str, dict[str, Any]] = {}
    for record in records:
        report = reports.setdefault(
            record["series"], {**{key: record[key] for key in _COMMON}, "workloads": {}}
        )
        head = {
            key: value
            for key, value in record.items()
            if key not in (*_COMMON, "series", "commit", "workload", "peer", "runs")
            and not key.startswith("peer_")
        }
        name, peer = record["workload"], record["peer"]
        workload = report["workloads"].setdefault(name, {**head, "peers": {}, "runs": []})
        workload["peers"][peer] = {
            key.removeprefix("peer_"): value
            for key, value in record.items()
            if key.startswith("peer_")
        }
        workload["runs"] += [
            {"round": run["round"], "workload": name, "peer": peer, **run} for run in record["runs"]
        ]
    for report in reports.values():
        for workload in report["workloads"].values():
            workload["runs"].sort(key=lambda run: run["round"])
    return reports


def read(path: Path = PATH) -> list[dict[str, Any]]:
    """Read all records."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(records: Iterable[Mapping[str, Any]], path: Path = PATH) -> None:
    """Write records, one a line."""
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8")


def record(report: Mapping[str, Any], name: str, commit: str, path: Path = PATH) -> int:
    """Add a report to the file in place of the same workloads of its series; return the number of
    records added."""
    new = to_records(report, name, commit)
    replaced = {(each["series"], each["workload"]) for each in new}
    old = read(path) if path.exists() else []
    kept = [each for each in old if (each["series"], each["workload"]) not in replaced]
    write([*kept, *new], path)
    return len(new)
