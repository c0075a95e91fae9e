"""Checks of an installed wheel without pytest; with torch it also serves.

check_wheel.py requirements WHEEL   print the requirements of a wheel without torch
check_wheel.py installed            check the packages of this Python
"""

from __future__ import annotations

import compileall
import contextlib
import email
import importlib.util
import json
import re
import subprocess
import sys
import time
import urllib.request
import warnings
import zipfile
from pathlib import Path

WAIT_S = 300


def print_requirements(wheel: str) -> None:
    """Print what the wheel requires without extras, except torch."""
    with zipfile.ZipFile(wheel) as files:
        (metadata,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        message = email.message_from_bytes(files.read(metadata))
    for requirement in message.get_all("Requires-Dist", []):
        if "extra ==" not in requirement and not requirement.startswith("torch"):
            print(requirement)


def check_installed() -> None:
    """Compile all modules without warnings, import the torch-free ones and run a kernel."""
    warnings.simplefilter("error", SyntaxWarning)
    import server.api
    import yaie

    assert "torch" not in sys.modules
    packages = [Path(str(module.__file__)).parent for module in (yaie, server.api)]
    assert all(compileall.compile_dir(folder, quiet=1, force=True) for folder in packages)
    import numpy as np

    from yaie.kernels import library_search
    from yaie.kernels.sampling_calls import best_tokens

    library = library_search.load()
    assert library is not None, library_search.status().reason
    logits = np.array([[1.0, 3.0, 2.0]], dtype=np.float32)
    assert best_tokens(library, logits) == ([3.0], [1])
    print(f"{library_search.status().reason}; Python {sys.version.split()[0]}")


def check_server() -> None:
    """Start `yaie serve` with the built-in model and ask it a question."""
    program = Path(sys.executable).with_name("yaie")
    log = Path("serve.log")
    with log.open("w") as errors:
        command = [program, "serve", "--port", "0", "--num-slots", "4k"]
        process = subprocess.Popen(command, stderr=errors)
    try:
        url = wait_ready(process, log)
        print(f"it answers: {ask(url)!r}")
    finally:
        process.terminate()
        process.wait(60)


def wait_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the server's address once it is ready."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.2)
        if address := re.search(r"http://[\w.]+:\d+", log.read_text()):
            url = address.group()
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{url}/readiness", timeout=5) as reply,
            ):
                if reply.status == 200:
                    return url
    raise SystemExit(f"the server is not ready: {log.read_text()}")


def ask(url: str) -> str:
    """Return the answer to one chat message."""
    with urllib.request.urlopen(f"{url}/v1/models", timeout=WAIT_S) as reply:
        model = json.load(reply)["data"][0]["id"]
    messages = [{"role": "user", "content": "What are you?"}]
    body = {"model": model, "messages": messages, "temperature": 0, "max_tokens": 16}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=WAIT_S) as reply:
        answer: str = json.load(reply)["choices"][0]["message"]["content"]
    assert answer
    return answer


if __name__ == "__main__":
    if sys.argv[1] == "requirements":
        print_requirements(sys.argv[2])
    else:
        check_installed()
        if importlib.util.find_spec("torch") is None:
            print("without torch: the server was not started")
        else:
            check_server()
