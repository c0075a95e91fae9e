"""Ranking files: what makes a model folder a reranker. Torch-free.

A reranker is a decoder with a classification head of one label (`...ForSequenceClassification`), or
a causal decoder that says yes or no about a query and a document. The second kind is known by the
step `LogitScore` in sentence-transformers' `modules.json`, or by `reranker` in the name of its
folder or repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaie.base.embedding_info import Pooling
from yaie.base.errors import ModelUnsupported
from yaie.base.json_reader import read_json_file
from yaie.base.ranking_info import PairForm, RankingInfo
from yaie.models.files.checkpoint import DTYPES, Checkpoint, StoredTensor

CLASSIFIER = "ForSequenceClassification"
HEAD = "score.weight"  # of a decoder's classifier: [labels, hidden]
_HEADS = (HEAD, "classifier.weight", "classifier.out_proj.weight")  # two are encoders'
_OUTPUT_HEAD = "lm_head.weight"
_EMBEDDING = "embed_tokens.weight"  # the output head of a model without one
MODULES = "modules.json"
_LOGIT_SCORE = "LogitScore"
_RERANKER = "reranker"
# Causal classes that are published as rerankers: their prompt, and the tokens of their answers.
_FORMS: dict[str, tuple[PairForm, str, str | None]] = {
    "Qwen3ForCausalLM": ("qwen3", "yes", "no"),
    "GemmaForCausalLM": ("gemma", "Yes", None),
}
# Settings by which a class changes its logits after the head.
_SCALES = ("final_logit_softcapping", "logits_scaling", "logit_scale")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingFiles:
    """A reranker's description, and the place of its score in the checkpoint."""

    info: RankingInfo
    yes: int | None = None  # token whose logit is the score; None: a classification head
    no: int | None = None  # token whose logit is subtracted


def read_ranking(
    folder: Path, config: Mapping[str, Any], wanted: Pooling | None = None
) -> RankingFiles | None:
    """Return how a folder's model scores documents; None for a model that is no reranker.

    `wanted`: the pooling that the settings name; `score` makes a reranker of a model whose files do
    not. Raises `ModelUnsupported` for a reranker whose prompt or score is unknown.
    """
    names = list(config.get("architectures") or ())
    if any(name.endswith(CLASSIFIER) for name in names):
        # Qwen3-Reranker, converted to a classifier.
        is_qwen3 = names[0] == f"Qwen3{CLASSIFIER}" and _is_named(folder)
        info = RankingInfo(
            form="qwen3" if is_qwen3 else "pair", is_probability=not _is_identity(folder, config)
        )
        return RankingFiles(info=info)
    step = logit_score(folder)
    is_stated = step is not None or (_is_named(folder) and bool(set(names) & set(_FORMS)))
    if not is_stated and wanted != "score":
        return None
    form, yes, no = _form(folder, names, config)
    info = RankingInfo(form=form, generates=not is_stated)
    if step is not None:
        tokens = step.get("true_token_id"), step.get("false_token_id")
        if type(tokens[0]) is not int or type(tokens[1]) not in (int, type(None)):
            raise ModelUnsupported(
                f"{folder / MODULES} has a {_LOGIT_SCORE} without token ids; download it again",
                code="model_damaged",
            )
        return RankingFiles(info=info, yes=tokens[0], no=tokens[1])
    ids = read_vocabulary(folder)
    found = [ids.get(token) for token in (yes, no) if token is not None]
    if None in found:
        raise ModelUnsupported(
            f"the tokenizer in {folder} has no token {yes!r}{f' or {no!r}' if no else ''}, so the "
            "model cannot rerank by it"
        )
    return RankingFiles(info=info, yes=found[0], no=found[1] if no else None)


def logit_score(folder: Path) -> dict[str, Any] | None:
    """Return the settings of a folder's step `LogitScore`; None without one."""
    for module in _read_steps(folder):
        if str(module.get("type")).rpartition(".")[2] == _LOGIT_SCORE:
            path = str(module.get("path") or "")
            return _read_object(folder / Path(path).name / "config.json")
    return None


def find_head(folder: Path, checkpoint: Checkpoint, ranking: RankingFiles) -> StoredTensor:
    """Return the tensor of a reranker's score. Raises `ModelUnsupported`."""
    tensors = checkpoint.tensors
    if ranking.yes is None:
        found = next((tensors[name] for name in _HEADS if name in tensors), None)
    else:
        found = tensors.get(_OUTPUT_HEAD)
        tied = (name for name in tensors if name.endswith(_EMBEDDING))
        if found is None and (name := next(tied, None)) is not None:
            found = tensors[name]
    if found is None or found.kind not in DTYPES or len(found.shape) != 2:
        raise ModelUnsupported(
            f"{folder} has no plain {HEAD if ranking.yes is None else 'output head'}, by which a "
            "reranker scores; use a checkpoint in bfloat16, float16 or float32"
        )
    if ranking.yes is None and found.shape[0] != 1:
        raise ModelUnsupported(
            f"{folder} is a classifier of {found.shape[0]} labels; YAIE serves classifiers of one "
            "label, which are rerankers"
        )
    if ranking.yes is not None and not max(ranking.yes, ranking.no or 0) < found.shape[0]:
        raise ModelUnsupported(
            f"{folder} is damaged: its score is of token {max(ranking.yes, ranking.no or 0)}, and "
            f"the output head has {found.shape[0]} rows; download it again",
            code="model_damaged",
        )
    return found


def is_cross_encoder(folder: Path, config: Mapping[str, Any]) -> bool:
    """Return True if `modules.json` describes a reranker, and no embedding model."""
    is_classifier = any(n.endswith(CLASSIFIER) for n in config.get("architectures") or ())
    return is_classifier or logit_score(folder) is not None


def _form(
    folder: Path, names: list[str], config: Mapping[str, Any]
) -> tuple[PairForm, str, str | None]:
    known = [_FORMS[name] for name in names if name in _FORMS]
    if not known or (logit_score(folder) is not None and not _is_named(folder)):
        raise ModelUnsupported(
            f"{folder} is no reranker whose prompt is known: rerankers that generate yes or no are "
            "Qwen3-Reranker and bge-reranker-v2-gemma, by the name of their folder"
        )
    if any(config.get(scale) for scale in _SCALES):
        raise ModelUnsupported(f"{names[0]} scales its logits, so YAIE does not rerank by them")
    return known[0]


def _is_named(folder: Path) -> bool:
    """Return True if the folder, or its repository in the hub's cache, is named a reranker."""
    named = [part for part in folder.parts if part.startswith("models--")]
    return any(_RERANKER in part.lower() for part in (folder.name, *named[-1:]))


def _is_identity(folder: Path, config: Mapping[str, Any]) -> bool:
    """Return True if sentence-transformers gives the scores of a classifier as they are."""
    stated = config.get("sentence_transformers")
    prompts = _read_object(folder / "config_sentence_transformers.json")
    named = [each.get("activation_fn") for each in (stated, prompts) if isinstance(each, dict)]
    return any(str(each).endswith(".Identity") for each in named)


def _read_steps(folder: Path) -> list[dict[str, Any]]:
    try:
        steps = read_json_file(folder / MODULES)
    except (OSError, ValueError):  # absent, or refused where embeddings are read
        return []
    if not isinstance(steps, list):
        return []
    return [each for each in steps if isinstance(each, dict)]


def read_vocabulary(folder: Path) -> dict[str, int]:
    """Return the ids of a folder's tokens, by their text; empty for an older tokenizer."""
    tokenizer = _read_object(folder / "tokenizer.json")
    vocabulary = (tokenizer.get("model") or {}).get("vocab") or {}
    added = tokenizer.get("added_tokens") or ()
    return {**vocabulary, **{each["content"]: each["id"] for each in added}}


def _read_object(path: Path) -> dict[str, Any]:
    try:
        found = read_json_file(path)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
