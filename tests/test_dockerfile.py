"""The container images, against the code that they serve, and in hadolint."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from yaie.base.settings import SETTINGS
from yaie.remote import health_probe
from yaie.server.http.middleware import OPEN_PATHS

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy/Dockerfile"
IMAGES = ("cpu", "cuda")
VARIABLES = {each.variable for each in SETTINGS.values()}
# Variables of other programs.
OTHER_VARIABLES = {"PATH", "TRITON_CACHE_DIR"}


@cache
def stages() -> dict[str, list[tuple[str, str]]]:
    """Return the instructions of each stage with their arguments, by its name."""
    text = DOCKERFILE.read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    lines = lines.replace("\\\n", " ")
    found: dict[str, list[tuple[str, str]]] = {}
    name = ""
    for line in filter(str.strip, lines.splitlines()):
        verb, argument = line.split(maxsplit=1)
        if verb == "FROM":
            name = argument.split(" AS ")[1].strip()
            found[name] = []
        found[name].append((verb, argument.strip()))
    return found


def instructions(stage: str) -> list[tuple[str, str]]:
    return stages()[stage]


def image_variables(stage: str = "cpu") -> dict[str, str]:
    pairs = [pair for name, rest in instructions(stage) if name == "ENV" for pair in rest.split()]
    return dict(pair.split("=", 1) for pair in pairs)


def copied() -> set[str]:
    """Return what the stages copy from the build context."""
    steps = [step for stage in stages().values() for step in stage]
    rests = [rest for name, rest in steps if name == "COPY" and "--from" not in rest]
    return {source for rest in rests for source in rest.split()[:-1]}


def test_the_cpu_image_is_the_default_one() -> None:
    assert list(stages()) == ["build", "cuda", "cpu"]


@pytest.mark.parametrize("image", IMAGES)
def test_the_volume_belongs_to_the_user_of_the_image(image: str) -> None:
    steps = instructions(image)
    volume = next(i for i, (name, _) in enumerate(steps) if name == "VOLUME")
    folder = steps[volume][1]
    made = [rest for name, rest in steps[:volume] if name == "RUN" and "install -d" in rest]
    assert any(re.search(rf"install -d -o yaie -g yaie {folder}$", rest) for rest in made)
    ((_, user),) = [each for each in steps if each[0] == "USER"]
    assert int(user) > 0 and any(f"--uid {user} yaie" in rest for _, rest in steps)


@pytest.mark.parametrize("image", IMAGES)
def test_each_image_serves_as_its_user(image: str) -> None:
    last = dict(instructions(image))
    assert json.loads(last["CMD"]) == ["yaie", "serve"]
    program = json.loads(last["HEALTHCHECK"].split("CMD")[1])
    assert f"-m {health_probe.__name__}" in " ".join(program)
    assert "/health" in OPEN_PATHS
    variables = image_variables(image)
    assert set(variables) <= VARIABLES | OTHER_VARIABLES
    assert variables["YAIE_HOST"] == "0.0.0.0" and last["EXPOSE"] == variables["YAIE_PORT"]


def test_the_images_install_the_pinned_torch() -> None:
    assert copied() and all((ROOT / source).exists() for source in copied())
    assert "torch==" in (ROOT / "constraints.txt").read_text(encoding="utf-8")
    for image in IMAGES:
        runs = [rest for name, rest in instructions(image) if name == "RUN"]
        (install,) = [rest for rest in runs if "pip install" in rest]
        assert "-c /tmp/constraints.txt" in install


@pytest.mark.parametrize("extras", ["", "otel", "otel,gpu"])
@pytest.mark.parametrize("image", IMAGES)
def test_the_wheel_is_installed_with_its_extras(image: str, extras: str, tmp_path: Path) -> None:
    """The shell of the image makes pip's argument from the wheel's name and the extras."""
    (install,) = [rest for name, rest in instructions(image) if "pip install" in rest]
    (tmp_path / "yaie-1.0-py3-none-any.whl").touch()
    argument = re.search(r'"\$\(.*"$', install)
    assert argument is not None
    text = f"echo {argument[0].replace('/wheels', str(tmp_path))}"
    shown = subprocess.run(
        ["sh", "-c", text], env={"EXTRAS": extras}, capture_output=True, text=True, check=True
    )
    wanted = ["gpu"] * (image == "cuda") + [each for each in extras.split(",") if each]
    brackets = f"[{','.join(wanted)}]" if wanted else ""
    assert shown.stdout.strip() == f"{tmp_path}/yaie-1.0-py3-none-any.whl{brackets}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(wanted) <= set(project["optional-dependencies"])


@pytest.mark.parametrize("image", IMAGES)
def test_the_probes_of_kuberay_find_their_program(image: str) -> None:
    runs = [rest for name, rest in instructions(image) if name == "RUN" and "apt-get" in rest]
    assert any(re.search(r"install [^&]* wget\b", rest) for rest in runs)


def test_kernels_load_in_every_image() -> None:
    """The wheel is built with the oldest C library, and for the Python of both images."""
    assert {name: steps[0][1].split(" AS ")[0] for name, steps in stages().items()} == {
        "build": "python:3.12-slim-bookworm",  # glibc 2.36
        "cuda": "nvidia/cuda:13.0.2-devel-ubuntu24.04",  # glibc 2.39, Python 3.12
        "cpu": "python:3.12-slim-bookworm",
    }


def test_the_builder_gets_what_is_copied_and_no_more() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"  # so that neither .git nor .venv is sent
    assert {rule[1:] for rule in rules if rule.startswith("!")} == copied()


@pytest.mark.integration
def test_hadolint_finds_no_fault() -> None:
    program = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("no hadolint: make test-deploy installs it")
    found = subprocess.run([program, str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")
