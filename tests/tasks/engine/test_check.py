"""A wrong setting is one line that names the key and what is allowed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf, open_dict

from atd import precision
from atd.errors import AtdError
from tasks.attributes.settings import Settings
from tasks.engine.check import CONF, check
from tasks.engine.explanation import explain
from tasks.engine.job import run
from tasks.engine.overrides import resume_arguments
from tasks.engine.settings import typed
from tests.program import run_py

ROOT = Path(__file__).parent.parent.parent.parent


def composed(*overrides):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", list(overrides))


def test_the_default_configuration_is_accepted():
    check(composed())


def test_bf16_on_a_cpu_is_accepted_where_it_pays(monkeypatch):
    cfg = composed("trainer.precision=bf16-mixed")
    monkeypatch.setattr(precision, "bf16_pays", lambda: True)
    check(cfg)
    monkeypatch.setattr(precision, "bf16_pays", lambda: False)
    monkeypatch.setattr(precision, "has_bf16", lambda: False)
    with pytest.raises(AtdError, match="bf16-mixed: emulated and very slow here"):
        check(cfg)


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("model.F=0", "model.F=0: must be a whole number, 1 or more"),
        ("model.F=1.5", "model.F=1.5: must be a whole number"),
        ("model.F=many", "model.F=many: must be a whole number"),
        ("model.context=-2", "model.context=-2: must be a whole number, 1 or more"),
        ("model.activation=tanh", "one of relu, identity"),
        ("optim.lr=0", "optim.lr=0: must be a number above 0"),
        ("optim.lr_decay=1.2", "at most 1"),
        ("trainer.threads=0", "a whole number, 1 or more, at most 1024, or null"),
        ("trainer.threads=99999", "a whole number, 1 or more, at most 1024, or null"),
        ("trainer.precision=half", "trainer.precision=half: must be one of auto, 32-true"),
        ("seed=-1", "seed=-1: must be a whole number, 0 or more"),
        ("seed=99999999999", "seed=99999999999: too large or too small; a number is 0, or from 1e-12 to 2147483647"),
        ("task.temperature=1e-40", "task.temperature=1e-40: too large or too small"),
        ("task.steps=[1,1e40]", "task.steps=.1, 1e.40.: too large or too small"),
        ("optim.lr=nan", "optim.lr=nan: must be a number above 0"),
        ("+surplus=1", "surplus: no such key; the top level has seed, "),
        ("checkpoint=[a]", r"checkpoint=.'a'.: must be text, or null"),
        ("paths.cache=null", "paths.cache=null: must be text"),
        ("~logger", "logger: nothing is no choice; choose logger=csv, none, tensorboard or wandb"),
        ("task=[]", "task: nothing is no choice; choose task=attributes, "),
        ("model.name=[atd]", "no choice; choose model="),
        ("model.K=${nowhere}", "model.K: Interpolation key 'nowhere' not found"),
        ("trainer.precision=16-mixed", "trainer.precision=16-mixed: emulated and very slow here"),
        ("model.sparse=true", "needs optim=adagrad"),
        ("task.words=0", "task.words=0: must be a whole number, 1 or more"),
        ("data.batch_size=0", "data.batch_size=0: must be a whole number, 1 or more"),
        ("logger.mode=sometimes", "one of online, offline, disabled, or null"),
        ("data.context=1", "data.context=1: must be that of the model; set model.context"),
        ("inference.l2=0", "inference.l2=0: must be a number above 0"),
    ],
)
def test_impossible_values_are_explained(override, says):
    companions = {"logger": ["logger=wandb"], "model.activation": ["model=paper"]}
    companions = companions.get(override.split("=")[0].removesuffix(".mode"), [])
    with pytest.raises(AtdError, match=says) as error:
        check(composed(*companions, override))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("logger=null", "logger=null: no such choice; logger is one of csv, none, tensorboard, wandb"),
        ("data=1", "data=1: no such choice; data is one of authors"),
        ("++model=1", "force-add of config groups is not supported: '++model=1'"),
        ("seed=1,2", "Ambiguous value for argument 'seed=1,2'"),
        ("model@x=atd", "model@x=atd"),
    ],
)
def test_what_hydra_refuses_is_explained(word, says):
    with pytest.raises(Exception) as error:  # Hydra has a dozen
        check(composed(word))
    line = explain(error.value, CONF, [word])
    assert line is not None and says in line and "\n" not in line


def test_an_error_of_the_program_is_not_explained_away():
    with pytest.raises(TypeError) as error:
        check(None)  # type: ignore[arg-type]
    assert explain(error.value, CONF) is None


def test_a_machine_without_slurm_is_told_so_before_anything_is_made(tmp_path):
    pytest.importorskip("submitit")
    place = tmp_path / "outputs" / "sweep"
    words = ["-m", "cluster=slurm", "seed=1,2", f"hydra.sweep.dir={place}"]
    done = run_py(*words, PATH=str(tmp_path))
    assert done.returncode == 2 and "no Slurm on this machine" in done.stderr and not place.exists()


def test_too_little_memory_is_one_line():
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**50)
    assert "too little memory" in str(explain(error.value, CONF))


@pytest.mark.parametrize(("typed_in", "name"), [("-1", "-1"), ("1984", "1984"), ("true", "true"), ("1.5", "1.5")])
def test_a_name_may_look_like_a_number(typed_in, name):
    cfg = composed(f"task.a={typed_in}")
    check(cfg)
    assert typed(Settings, cfg.task).a == name


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ("optim=rows", "task=attributes: does not work with optim=rows; choose optim=adam, sgd or adagrad"),
        ("model=ranking", "does not work with model=ranking; choose model=atd, paper, tensor or mixture"),
        ("model=lbl", "task=attributes: does not work with model=lbl; choose model="),
        (
            "task=sentiment data=gutenberg_sample",
            "task=sentiment: does not work with data=gutenberg_sample; choose data=treebank or treebank_sample",
        ),
        ("task=crosslingual data=blogs_sample", "choose data=europarl_rcv, europarl_rcv_sample or parallel"),
        (
            "task=authorship data=table data.path=x.csv data.attributes=[a]",
            "task=authorship: does not work with data=table; choose data=blogs or blogs_sample",
        ),
        ("data=europarl_rcv_sample", "task=attributes: does not work with data=europarl_rcv_sample; choose data="),
        ("data.path=x.csv", "data.path=x.csv: data=gutenberg_sample writes its own text and reads no file; your own"),
        (
            "data=gutenberg data.path=x.csv",
            "data.path=x.csv: data=gutenberg reads no table; your own table is data=table",
        ),
        (
            "model.name=nope",
            "model.name=nope: no such model; "
            "choose model=atd, paper, lbl, mixture, unshared, tensor, ranking or meaning",
        ),
        ("optim.name=nope", "optim.name=nope: no such optim; choose optim=adam, adagrad, sgd or rows"),
        ("data=table", "data.path: has no default; your own table is data=table data.path=reviews.csv"),
        ("inference.name=nope", "inference.name=nope: no such inference; choose inference=convex or sgd"),
    ],
)
def test_what_does_not_fit_is_one_line_with_a_choice_that_does(overrides, says):
    with pytest.raises(AtdError) as error:
        check(composed(*overrides.split()))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_every_task_says_what_it_works_with():
    """The default corpus, model and optimiser of every task fit it."""
    for path in sorted((ROOT / "conf/task").glob("*.yaml")):
        check(composed(f"task={path.stem}"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["model.G=3"], "model.G: no such key; model has name, K, F, D, context"),
        (["model.contxt=3"], "model.contxt: no such key (did you mean context?)"),
        (["modell.F=3"], "modell: no such key (did you mean model?)"),
        (["task=sentimnet"], "task=sentimnet: no such choice; task is one of "),
        (["model.F=[1"], "model.F=[1: cannot be read as key=value"),
        (["logger=null"], "logger=null: no such choice; logger is one of "),
        (["+resume=nowhere"], "resume=nowhere: no config.yaml there"),
        (["model.F=0"], "model.F=0: must be a whole number, 1 or more"),
        (["resume=nowhere"], "resume=nowhere: no config.yaml there"),
        (["task.a=moby"], "task.a=moby: no attribute is called 'moby'; did you mean "),
        (["data=table", "data.path=x.csv"], "data.attributes, data.formula: give one of them"),
    ],
)
def test_the_command_fails_with_one_line(arguments, says, tmp_path):
    folder = [] if arguments[0].startswith("resume") else [f"hydra.run.dir={tmp_path}/run"]
    done = run_py(*arguments, *folder)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith(f"error: {says}"), done.stderr


@pytest.mark.parametrize("name", ["x[/red]y", 'a"b', "a\\", "é 日", "$x_$", "${x}", "a=b,c", "{a: 1}"])
def test_any_folder_can_be_resumed(name, tmp_path):
    folder = tmp_path / name
    folder.mkdir(parents=True)
    OmegaConf.save(composed(), folder / "config.yaml")
    resume, place, _ = resume_arguments([f"resume={folder}"])
    cfg = composed(resume, place)
    assert cfg.resume == str(folder)


def test_help_shows_groups_and_examples():
    done = subprocess.run([sys.executable, "run.py", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    for group in ("task", "data", "model", "optim", "trainer", "logger", "inference", "experiment"):
        assert f"\n{group}: " in done.stdout
    assert done.stdout.count("python run.py") >= 6


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"data": {"_target_": "joblib.load", "filename": "x.pkl"}}, "data._target_=joblib.load: not a corpus"),
        ({"data.tokeniser": {"_target_": "os.system", "command": "true"}}, "data.tokeniser._target_=os.system: a conf"),
        ({"model.vectors": [{"_target_": "os.getcwd"}]}, "model.vectors.0._target_=os.getcwd: a configuration may"),
        ({"data._partial_": True}, "data._partial_=True: a configuration may name no object"),
        ({"task.name": "engine.job"}, "task.name=engine.job: no such task; choose task="),
    ],
)
def test_a_run_folder_cannot_bring_code_along(changes, says, tmp_path):
    """Its config.yaml is believed when a run is resumed."""
    cfg = composed("data=gutenberg_sample")
    with open_dict(cfg):
        for key, value in changes.items():
            OmegaConf.update(cfg, key, value, merge=False)
    with pytest.raises(AtdError, match=re.escape(says)):
        check(cfg)
    OmegaConf.save(cfg, tmp_path / "config.yaml")
    with pytest.raises(AtdError, match=re.escape(says)):
        run(composed(f"resume={tmp_path}"), tmp_path)
