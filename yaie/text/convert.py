"""Write `tokenizer.json` for a model folder that has only an older form of tokenizer.

Run by `load_tokenizer` as a child process (`python -m yaie.text.convert FROM TO`), because
transformers' converters need torch to be imported and the server must not hold it.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Convert; the last line on stderr says why when it fails."""
    source, target = sys.argv[1:3]
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            source, local_files_only=True, trust_remote_code=False, use_fast=True
        )
        tokenizer.save_pretrained(target)
    except Exception as error:  # whatever a converter raises is the reason to report
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    if not (Path(target) / "tokenizer.json").is_file():
        print(f"{type(tokenizer).__name__} has no fast form", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
