"""The journal of results: crashes at any byte, foreign files, full disks and two writers."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from tests.batch.request_files import given, question, results
from yaie.base.advised_error import AdvisedError
from yaie.batch.batch_lines import BatchLine
from yaie.batch.result_journal import BatchResult, ResultError, ResultJournal, ResultResponse

NAMES = ["a", "é", "🙂" * 9, 'q"\n', "e"]


def result_of(line: BatchLine, text: str = "{}") -> BatchResult:
    response = ResultResponse(200, "r", msgspec.Raw(text.encode()))
    return BatchResult(line.result_id, line.custom_id, response, None)


@examples(
    cuts=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 2000), st.integers(0, 500)), max_size=6
    ),
    texts=st.lists(st.text(max_size=30), min_size=5, max_size=5),
)
def test_no_result_is_lost_or_doubled_by_crashes(
    cuts: list[tuple[int, int, int]], texts: list[str]
) -> None:
    """Each crash comes after some results, and cuts the file at some byte of the last one.

    The machine's crashes also leave zeros: bytes of the file that were not on the disk yet.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.jsonl"
        lines = given(Path(folder) / "in.jsonl", [question(name) for name in NAMES]).lines
        whole: dict[str, bytes] = {}  # results that were complete before the last crash

        def run(most: int) -> None:
            with ResultJournal(path, lines) as journal:
                assert journal.done == set(whole)
                for line in [each for each in lines if each.custom_id not in journal.done][:most]:
                    text = texts[NAMES.index(line.custom_id)]
                    made = result_of(line, msgspec.json.encode(text).decode())
                    whole[line.custom_id] = msgspec.json.encode(made) + b"\n"
                    journal.append(made)

        for most, cut, zeros in cuts:
            run(most)
            written = path.read_bytes()
            if whole and most:
                last = list(whole)[-1]
                size = len(whole[last])
                if kept := cut % (size + 1):  # bytes that are lost
                    del whole[last]
                os.truncate(path, len(written) - kept)
            os.truncate(path, path.stat().st_size + zeros)
        run(len(NAMES))
        assert set(results(path)) == set(NAMES)
        assert path.read_bytes() == b"".join(whole.values())


def test_results_after_a_hole_run_again(tmp_path: Path) -> None:
    lines = given(tmp_path / "in", [question(name) for name in "abc"]).lines
    path = tmp_path / "out"
    for hole in (20, -1):  # inside the second line, and over its end
        path.unlink(missing_ok=True)
        with ResultJournal(path, lines) as journal:
            for line in lines:
                journal.append(result_of(line))
        first, second, third = path.read_bytes().splitlines(keepends=True)
        damaged = bytearray(second + third)
        start = len(second) + hole if hole < 0 else hole
        damaged[start : start + 9] = bytes(9)
        path.write_bytes(first + damaged)
        with ResultJournal(path, lines) as journal:
            assert journal.done == {"a"}
        assert path.read_bytes() == first


def test_failed_requests_run_again_if_asked(tmp_path: Path) -> None:
    lines = given(tmp_path / "in", [question(name) for name in "abc"]).lines
    path = tmp_path / "out"
    with ResultJournal(path, lines) as journal:
        for line in lines[:2]:
            result = result_of(line)
            if line.custom_id == "a":
                result.error = ResultError("overloaded", "later")
            journal.append(result)
        with pytest.raises(AdvisedError, match="is being written by another batch"):
            ResultJournal(path, lines, retries_failed=True)
    before = path.read_bytes()
    with ResultJournal(path, lines) as journal:
        assert journal.done == {"a", "b"} and path.read_bytes() == before
    with ResultJournal(path, lines, retries_failed=True) as journal:
        assert journal.done == {"b"} and journal.num_failed == 0
        with pytest.raises(AdvisedError, match="is being written by another batch"):
            ResultJournal(path, lines)
        journal.append(result_of(lines[0]))
    assert set(results(path)) == {"a", "b"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "out"]
    with ResultJournal(tmp_path / "new", lines, retries_failed=True) as journal:
        assert not journal.done


def test_a_cut_line_of_another_program_is_kept(tmp_path: Path) -> None:
    lines = given(tmp_path / "in", [question("a")]).lines
    texts = ("my only copy", '{"id":"other"', '{"id":"batch_req_x"}\nnotes')
    for text in (*texts, "\0\0\0\nan image", "SQLite format 3\0", '{"id":\0\0\n', '{"id"\0x'):
        path = tmp_path / "notes"
        path.write_text(text)
        with pytest.raises(AdvisedError, match="does not belong to this batch"):
            ResultJournal(path, lines)
        assert path.read_text() == text


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ([question("b")], "no line with the custom_id 'a'"),
        ([question("a", "else")], "line 1 of the input, custom_id 'a', was another request"),
    ],
)
def test_an_output_of_another_input_is_refused_unchanged(
    tmp_path: Path, other: list[dict[str, object]], why: str
) -> None:
    path = tmp_path / "out"
    lines = given(tmp_path / "in", [question("a")]).lines
    with ResultJournal(path, lines) as journal:
        journal.append(result_of(lines[0]))
    before = path.read_bytes()
    with pytest.raises(AdvisedError) as refusal:
        ResultJournal(path, given(tmp_path / "in2", other).lines)
    assert why in refusal.value.why
    path.write_bytes(before * 2)
    with pytest.raises(AdvisedError) as refusal:
        ResultJournal(path, lines)
    assert "has two results" in refusal.value.why
    assert path.read_bytes() == before * 2


def test_failures_of_earlier_runs_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "out"
    lines = given(tmp_path / "in", [question("a"), question("b"), question("c")]).lines
    with ResultJournal(path, lines) as journal:
        a, b, c = map(result_of, lines)
        for each in (a, msgspec.structs.replace(b, error=ResultError("x", "y"))):
            journal.append(each)
        journal.append(msgspec.structs.replace(c, response=ResultResponse(404)))
        assert journal.num_failed == 2
    with ResultJournal(path, lines) as journal:
        assert journal.num_failed == 2


def test_two_batches_never_write_one_file(tmp_path: Path) -> None:
    lines = given(tmp_path / "in", [question("a")]).lines
    with (
        ResultJournal(tmp_path / "out", lines),
        pytest.raises(AdvisedError, match="is being written by another batch"),
    ):
        ResultJournal(tmp_path / "out", lines)
    ResultJournal(tmp_path / "out", lines).close()


def test_a_full_disk_is_told_and_leaves_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    lines = given(tmp_path / "in", [question("a"), question("b")]).lines
    write = os.write
    room = [200]

    def write_while_there_is_room(number: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = write(number, bytes(data)[: room[0]])
        room[0] -= taken
        return taken

    with ResultJournal(path, lines) as journal:
        monkeypatch.setattr(os, "write", write_while_there_is_room)
        journal.append(result_of(lines[0]))
        with pytest.raises(AdvisedError, match=r"the disk of .* is full") as failure:
            journal.append(result_of(lines[1], f'"{"x" * 300}"'))
        monkeypatch.undo()
        assert "continues after the last result" in failure.value.advice
        assert list(results(path)) == ["a"]
        journal.append(result_of(lines[1]))
    assert list(results(path)) == ["a", "b"]


def test_an_output_is_a_file_in_a_folder_that_exists(tmp_path: Path) -> None:
    with pytest.raises(AdvisedError, match="is not a regular file"):
        ResultJournal(Path("/dev/null"), [])
    with pytest.raises(AdvisedError, match="cannot write"):
        ResultJournal(tmp_path / "no" / "out", [])
