"""Configured engines on disk: the settings of an `LLM` and its warm-ups, not its weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from yaie.api.warmup_config import WarmupConfig
from yaie.base.errors import ConfigError
from yaie.base.json_reader import read_json_file
from yaie.base.own_package import read_version
from yaie.base.settings import ENGINE_SETTINGS, EngineConfig

FILE = "yaie-engine.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class SavedEngine:
    """Contents of a saved engine."""

    config: EngineConfig
    tokenizer: str | None  # a folder in place of the model's own
    warm_ups: tuple[WarmupConfig, ...]

    def write(self, folder: str | PathLike[str]) -> Path:
        """Write the engine into `folder`, which is made; return the path of the file."""
        settings = {
            name: getattr(self.config, name)
            for name, each in ENGINE_SETTINGS.items()
            if getattr(self.config, name) != each.default
        }
        if Path(self.config.model).exists():  # a folder must be found from anywhere
            settings["model"] = str(Path(self.config.model).resolve())
        contents = {
            "format": FORMAT,
            "yaie": read_version(),
            "settings": settings,
            "tokenizer": self.tokenizer,
            "warm_ups": [asdict(each) for each in self.warm_ups],
        }
        path = Path(folder) / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> SavedEngine:
        """Read an engine that `write` wrote. Raises `ConfigError` for anything else."""
        path = Path(folder) / FILE
        try:
            contents: dict[str, Any] = read_json_file(path)
            if contents["format"] != FORMAT:
                raise ConfigError(
                    f"{path} has format {contents['format']!r}, this version of YAIE reads "
                    f"{FORMAT}; save the engine again"
                )
            unknown = contents["settings"].keys() - ENGINE_SETTINGS.keys()
            if unknown:
                raise ConfigError(
                    f"{path} has the setting {min(unknown)!r}, which this version of YAIE lacks; "
                    "remove it, or save the engine again"
                )
            return cls(
                EngineConfig(**contents["settings"]),
                contents["tokenizer"],
                tuple(WarmupConfig(**each) for each in contents["warm_ups"]),
            )
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be read ({error.strerror}); name a folder that LLM.save wrote"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"{path} is not a saved engine ({type(error).__name__}: {error}); name a folder "
                f"that "
                "LLM.save wrote"
            ) from None
