"""The library as a stranger installs it: what the wheel holds, what it needs, and what a trained model answers."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from small_runs import write_reviews

import atd
from atd.errors import AtdError
from tests.tasks.tiny_model import NAMES, write_checkpoint

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("atd", "datamodules", "tasks", "hydra_plugins")
MIX = f"0.5*{NAMES[0]} + 0.5*{NAMES[2]} - {NAMES[4]}"
ABSENT = ("lightning", "hydra", "omegaconf", "wandb", "spacy", "pyarrow", "sklearn", "rich", *PACKAGES[1:])
USE = """
import importlib.util, json, sys
import atd
from atd import Vocabulary
assert "torch" not in sys.modules, "import atd costs PyTorch"
folder, mix, *absent = sys.argv[1:]
trained = atd.load(folder)
texts = trained.tokens(["The king said: light, 3,000 lights!", "", "whale"])
rows = {"text": ["a ship at sea", "a cow on land"] * 30, "place": ["sea", "land"] * 30}
model = atd.AttributeModel(attributes=["place"], K=8, F=8, D=2, min_steps=0).fit(rows)
print(json.dumps({
    "home": atd.__file__,
    "version": atd.__version__,
    "attributes": trained.attributes,
    "neighbours": trained.most_similar("light", mix, n=3),
    "text": trained.generate(mix, words=8, seed=3),
    "learned": [model.model_.attributes, list(model.transform(rows["text"][:3]).shape)],
    "ids": [texts[i].tolist() for i in range(len(texts))],
    "present": [name for name in absent if importlib.util.find_spec(name)],
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built in a copy, so that nothing is left in the checkout."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("run.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    run(sys.executable, "-m", "pip", "wheel", "-q", str(copy), "--no-deps", "--no-build-isolation", "-w", str(out))
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def clean_python(wheel, tmp_path_factory) -> Path:
    """A virtualenv with the wheel and all that it asks for; those are links to this environment's."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(packages), str(wheel))
    for place in sorted(places_of(*(Requirement(line).name for line in PROJECT["dependencies"]))):
        if not (packages / place.name).exists():
            (packages / place.name).symlink_to(place)
    return python


def places_of(*names: str) -> set[Path]:
    """Files and folders of some packages and of all they need, in the site-packages of this environment."""
    found: set[Path] = set()
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        package = distribution(name)
        tops = {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}
        found |= {Path(str(package.locate_file(top))) for top in tops}
        needs = map(Requirement, package.requires or [])
        waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_wheel_holds_the_library_alone(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"atd", f"atd-{PROJECT['version']}.dist-info"}
    sources = [path for kind in ("*.py", "*.c") for path in (ROOT / "atd").rglob(kind)]
    own = {str(path.relative_to(ROOT)) for path in sources} | {"atd/py.typed"}
    assert {name for name in names if name.startswith("atd/")} == own


def test_the_source_archive_holds_the_library_alone(tmp_path):
    """Of a checkout: what a wheel is built from, and none of the tests, which setuptools would take in part."""
    for name in ("atd", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    run(sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')", cwd=tmp_path)
    (archive,) = (tmp_path / "dist").iterdir()
    with tarfile.open(archive) as file:
        names = [name.split("/")[1:] for name in file.getnames()]
    assert {name[0] for name in names if len(name) > 1} == {"atd", "atd.egg-info"}
    files = {name[0] for name in names if len(name) == 1}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= files and "run.py" not in files


def test_a_clean_environment_loads_and_asks(clean_python, tmp_path):
    """Outside the checkout, with torch and NumPy only: the answers are those of this environment."""
    folder = write_checkpoint(tmp_path / "run")
    found = json.loads(run(clean_python, "-I", "-c", USE, folder, MIX, *ABSENT, cwd=tmp_path))
    here = atd.load(folder)
    assert not found["present"] and not found["home"].startswith(str(ROOT))
    assert found["version"] == PROJECT["version"] and found["attributes"] == NAMES
    assert [word for word, _ in found["neighbours"]] == [word for word, _ in here.most_similar("light", MIX, n=3)]
    assert found["text"] == here.generate(MIX, words=8, seed=3)
    assert found["learned"] == [["land", "sea"], [3, 2]]
    words = [" ".join(here.vocabulary.decode(ids)) for ids in found["ids"]]
    assert words == ["the king said <unk> light , <#> lights <unk>", "", "whale"]


def test_the_example_of_the_readme_needs_the_library_alone(clean_python, tmp_path):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = [code for code in re.findall(r"```python\n(.*?)```", page, flags=re.S) if "AttributeModel" in code]
    write_reviews(tmp_path / "reviews.csv")
    run(clean_python, "-I", "-c", example, cwd=tmp_path)
    assert atd.load(tmp_path / "reviews.ckpt").columns == {"age": ["20s", "60s"], "gender": ["f", "m"]}


def test_the_command_is_installed(clean_python, tmp_path):
    """`atd fit` on a csv file and a question, with torch and NumPy only."""
    rows = ["text,place"] + ["a ship at sea,sea", "a cow on land,land"] * 30
    (tmp_path / "places.csv").write_text("\n".join(rows) + "\n")
    atd_ = clean_python.parent.parent / "lib"
    (command,) = atd_.rglob("site-packages/bin/atd")
    program = [clean_python, "-I", command]
    small = ["--K=8", "--F=8", "--D=2", "--min-steps=0"]
    run(*program, "fit", "places.csv", "--attributes", "place", "--out", "places.ckpt", *small, cwd=tmp_path)
    near = run(*program, "similar", "places.ckpt", "ship", "--given", "sea", "-n", "2", cwd=tmp_path)
    assert len(near.splitlines()) == 2


def test_the_version_has_one_source(tmp_path):
    """That of pyproject.toml: as installed, and of a checkout or an image where nothing is installed."""
    assert atd.__version__ == PROJECT["version"]
    shutil.copytree(ROOT / "atd", tmp_path / "atd")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import atd; print(atd.__version__)"
    assert run(sys.executable, "-I", "-S", "-c", code).strip() == "unknown"
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert run(sys.executable, "-I", "-S", "-c", code).strip() == PROJECT["version"]


def test_run_py_finds_its_packages_from_anywhere(tmp_path):
    assert "name: attributes" in run(sys.executable, ROOT / "run.py", "--cfg", "job", cwd=tmp_path)
    assert not list(tmp_path.iterdir())
    installed = Path(sysconfig.get_path("purelib"))
    assert not [name for name in PACKAGES[1:3] if (installed / name).exists()]


def imported(files: Iterable[Path]) -> set[str]:
    """Packages of others that the files import, anywhere in them."""
    names: set[str] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {*PACKAGES, "__future__"}


def declared(*extras: str) -> set[str]:
    lines = PROJECT["dependencies"] + [line for name in extras for line in PROJECT["optional-dependencies"][name]]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def test_what_is_imported_is_declared():
    """By name, not as something that another package happens to bring."""
    library = list((ROOT / "atd").rglob("*.py"))
    platform = [path for folder in PACKAGES[1:] for path in (ROOT / folder).rglob("*.py")]
    asked_for = {"pyarrow", "safetensors", "scikit-learn", "spacy"}  # imported where a caller asks for them
    extras = ("platform", "page", "benchmark", "sweep", "cluster")
    homes = packages_distributions()
    for files, known in ((library, declared() | asked_for), ([*platform, ROOT / "run.py"], declared(*extras))):
        for name in imported(files):
            assert {canonicalize_name(home) for home in homes.get(name, [name])} & known, name


@pytest.mark.parametrize("name", ["atd", "paper", "tensor", "mixture", "lbl", "unshared"])
def test_every_language_model_answers(name, tmp_path):
    trained = atd.load(write_checkpoint(tmp_path / "run", {"name": name, "components": 2}))
    mix = None if name == "lbl" else MIX
    near = trained.most_similar("light", mix, n=4)
    assert len(near) == 4 and near == sorted(near, key=lambda pair: -pair[1]) and "light" not in dict(near)
    text = trained.generate(mix, words=12, temperature=1.0)
    assert len(text.split()) == 12 and text == trained.generate(mix, words=12, temperature=1.0)
    assert text != trained.generate(mix, words=12, temperature=1.0, seed=1)
    assert name == "lbl" or trained.vector(MIX).shape == (6,)


def test_words_of_one_language_stay_in_it(tmp_path):
    folder = write_checkpoint(tmp_path / "run", {"name": "unshared"}, ["en", "de", "fr"], languages=3)
    trained = atd.load(folder)
    near = trained.most_similar("light2", "fr", n=5, language=2)
    assert len(near) == 5 and all(word.endswith("2") for word, _ in near)
    E = trained.model.embeddings(trained.x("fr")).detach()
    row = 2 * len(trained.vocabulary)
    a, b = (E[row + trained.vocabularies[2].id(word)] for word in ("light2", near[0][0]))
    assert float(a @ b / (a.norm() * b.norm())) == pytest.approx(near[0][1], abs=1e-5)
    assert all(word.endswith("2") or word == "<#>" for word in trained.generate("fr", language=2).split())
    assert trained.tokens(["light2"], language=2)[0].tolist() == [trained.vocabularies[2].id("light2")]


def test_a_vector_is_the_weighted_sum(tmp_path):
    trained = atd.load(write_checkpoint(tmp_path / "run"))
    x = trained.model.vectors().detach()
    assert torch.from_numpy(trained.vector(NAMES[1])).equal(x[1])
    assert torch.from_numpy(trained.vector(MIX)).allclose(0.5 * x[0] + 0.5 * x[2] - x[4])
    assert trained.tokens("light").tokens.tolist() == trained.tokens(["light"]).tokens.tolist()


def test_no_error_of_the_library_names_a_configuration_key():
    key = re.compile(r"\b(model|data|task|optim|trainer|inference|checkpoint)(\.[a-z]+)*=|\b(model|data|task)\.[a-z]")
    for path in (ROOT / "atd").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise):
                said = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                assert not [text for text in map(str, said) if key.search(text)], path


def test_what_can_be_mended_is_one_line(tmp_path):
    trained = atd.load(write_checkpoint(tmp_path / "run"))
    with pytest.raises(AtdError, match="did you mean whale"):
        trained.most_similar("whales")
    with pytest.raises(AtdError, match="no attribute is called 'bible-kvj'; did you mean bible-kjv"):
        trained.generate("bible-kvj")
    trained.tokeniser = None
    with pytest.raises(AtdError, match=r"does not say how its texts were tokenised; set .tokeniser"):
        trained.tokens(["light"])
    with pytest.raises(AtdError, match="log-bilinear model has no attributes"):
        atd.load(write_checkpoint(tmp_path / "lbl", {"name": "lbl"})).vector(NAMES[0])
    with pytest.raises(AtdError, match=r"no language model called 'gpt'; it is one of atd, lbl"):
        write_checkpoint(tmp_path / "gpt", {"name": "gpt"})
    (tmp_path / "empty").mkdir()
    with pytest.raises(AtdError, match=r"empty: no checkpoints/\*/best.ckpt in this folder; give a checkpoint file"):
        atd.load(tmp_path / "empty")
