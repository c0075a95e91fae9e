"""`python -m benchmarks quality`: comparison, table, picture, and the command on a tiny model."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.quality.chart import draw_chart
from benchmarks.quality.command import app, make_report
from benchmarks.quality.compare import common_prefix, halves, perplexity, ratio
from benchmarks.quality.kinds import settings_of
from benchmarks.quality.llama_cpp import MISSING, read_bench, read_perplexity
from benchmarks.quality.material import Material, cut_chunks, read_conversations, read_text
from benchmarks.quality.measure import Figures
from benchmarks.quality.report import as_table

SVG = "{http://www.w3.org/2000/svg}"


def figures(shift: float, answers: list[list[int]], bits: float) -> Figures:
    return Figures(
        losses=[[1.0 + shift, 2.0 + shift, 3.0 + shift]],
        answers=answers,
        tokens_per_s=100.0 / bits,
        prompt_tokens_per_s=1000.0 / bits,
        bits_per_weight=bits,
        model={"name": "tiny"},
    )


def report() -> dict[str, Any]:
    found = {
        "none": figures(0.0, [[1, 2, 3], [4, 5]], 16.0),
        "int4": figures(math.log(1.25), [[1, 2, 9], [4, 5]], 4.5),
    }
    material = Material(
        text="text",
        chunks=1,
        chunk_tokens=4,
        conversations=[[], []],
        answer_tokens=3,
        repeats=1,
    )
    base = perplexity(halves(found["none"].losses))
    rows = {"Q8_0": {"perplexity_half": 1.5 * base, "bits_per_weight": 8.5}}
    return make_report(found, rows, [MISSING], material, "text.txt")


def test_a_loss_that_is_larger_everywhere_has_no_paired_error() -> None:
    row = report()["kinds"]["int4"]
    assert row["ratio"] == pytest.approx(1.25)
    assert row["ratio_error"] == pytest.approx(0.0, abs=1e-9)
    assert row["perplexity"] == pytest.approx(1.25 * math.exp(2.0))


def test_answers_are_compared_token_by_token() -> None:
    row = report()["kinds"]["int4"]
    assert (row["identical"], row["common_prefix"]) == (1, 2.0)


def test_the_later_half_is_the_one_of_llama_perplexity() -> None:
    (half,) = halves([list(map(float, range(1, 1024)))])  # each loss is its token's place
    assert len(half) == 511
    assert (half[0], half[-1]) == (513.0, 1023.0)


@given(st.lists(st.floats(0, 20), min_size=2, max_size=50))
def test_a_text_has_the_ratio_one_to_itself(losses: list[float]) -> None:
    assert ratio([losses], [losses]) == (1.0, 0.0)


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_a_common_prefix_is_equal_and_as_long_as_possible(
    ours: list[int], theirs: list[int]
) -> None:
    length = common_prefix(ours, theirs)
    assert ours[:length] == theirs[:length]
    assert ours[length : length + 1] != theirs[length : length + 1] or ours == theirs


def test_the_table_has_each_kind_and_file() -> None:
    lines = as_table(report()).splitlines()
    assert lines[3].startswith("| int4 | 4.50 |")
    assert "1.2500 ± 0.0000" in lines[3]
    assert "1 of 2" in lines[3]
    assert lines[4].startswith("| llama.cpp Q8_0 | 8.50 |")
    assert "1.5000" in lines[4]
    assert lines[-1] == f"{MISSING}."


def test_the_picture_is_well_formed_and_names_each_point() -> None:
    root = ElementTree.fromstring(draw_chart(report()))
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert len(list(root.iter(f"{SVG}circle"))) == 3
    assert len(list(root.iter(f"{SVG}rect"))) == 2  # the file was not timed
    assert {"none", "int4", "llama.cpp Q8_0"} <= set(texts)
    assert "int4 4.5 bits, 1.250" in root.attrib["aria-label"]


def test_labels_of_close_points_do_not_overlap() -> None:
    made = report()
    for name in ("kv-int8", "int8", "int4-nearest"):
        made["kinds"][name] = {**made["kinds"]["none"], "ratio_half": 1.001}
    for name in ("F16", "Q4_K_M"):
        made["llama_cpp"][name] = {**made["llama_cpp"]["Q8_0"], "bits_per_weight": 15.9}
    boxes = []
    for text in ElementTree.fromstring(draw_chart(made)).iter(f"{SVG}text"):
        kinds, width = text.attrib["class"].split(), 6.5 * len(text.text or "")
        if {"ours", "theirs"} & set(kinds):
            x, y = float(text.attrib["x"]), float(text.attrib["y"])
            left = x - width if "label" in kinds else x
            boxes.append((left, left + width, y))
    assert len(boxes) == 8
    for (left, right, y), (other_left, other_right, other_y) in itertools.combinations(boxes, 2):
        assert right <= other_left or other_right <= left or abs(y - other_y) >= 12


def test_figures_of_llama_cpp_are_read_from_its_output() -> None:
    printed = "perplexity: 0.98 seconds per pass\nFinal estimate: PPL = 14.7671 +/- 0.4"
    assert read_perplexity(printed) == {"perplexity_half": 14.7671}
    assert read_perplexity("error: failed to load model") == {}
    weights = {"model_size": 17, "model_n_params": 16}
    runs = [
        {**weights, "n_prompt": 512, "n_gen": 0, "samples_ts": [700.5, 720.25]},
        {**weights, "n_prompt": 0, "n_gen": 64, "samples_ts": [97.5, 95.0]},
    ]
    assert read_bench(json.dumps(runs)) == {
        "bits_per_weight": 8.5,
        "prompt_tokens_per_s": 720.25,
        "tokens_per_s": 97.5,
    }


def test_kinds_join_and_an_unknown_one_is_named() -> None:
    assert settings_of("int4+kv-int8") == {"quantization": "int4", "kv_dtype": "int8"}
    calibrated = settings_of("int4-calibrated", Path("text.txt"))
    assert calibrated == {"quantization": "int4", "calibrate": "text.txt"}
    with pytest.raises(Exception, match="needs a text"):
        settings_of("int4-calibrated")
    result = CliRunner().invoke(app, ["--kinds", "none,int3"])
    assert "unknown 'int3'; choose from" in str(result.exception)


def test_the_material_is_the_repository(tmp_path: Path) -> None:
    assert "# Architecture" in read_text(None)
    assert len(read_conversations(100)) == 100
    for arguments, message in (
        (["--text", str(tmp_path / "missing")], "cannot read"),
        (["--chats", "5000"], "are too many"),
        (["--gguf", str(tmp_path / "missing.gguf")], "is not a file"),
    ):
        assert message in str(CliRunner().invoke(app, arguments).exception)


def test_a_short_text_is_refused_and_a_long_one_is_cut() -> None:
    assert cut_chunks([1, 2, 3, 4, 5], 9, 2) == [[1, 2], [3, 4]]
    with pytest.raises(Exception, match="less than one chunk"):
        cut_chunks([1], 1, 2)


@pytest.mark.slow
def test_the_command_measures_kinds_in_processes_of_their_own(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    arguments = ["--model", str(tiny_model_dir), "--kinds", "none,int8"]
    arguments += ["--chunks", "2", "--chunk-tokens", "64", "--chats", "3", "--tokens", "4"]
    arguments += ["--repeats", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed == json.loads((tmp_path / "quality.json").read_text(encoding="utf-8"))
    none, int8 = (printed["kinds"][kind] for kind in ("none", "int8"))
    assert (printed["text"]["chunks"], printed["text"]["scored"]) == (2, 126)
    assert (none["ratio"], none["identical"]) == (1.0, 3)
    assert int8["ratio"] == pytest.approx(1.0, abs=0.05)
    assert int8["bits_per_weight"] < none["bits_per_weight"]
    assert none["tokens_per_s"] > 0 < none["prompt_tokens_per_s"]
    ElementTree.fromstring((tmp_path / "quality.svg").read_text(encoding="utf-8"))
