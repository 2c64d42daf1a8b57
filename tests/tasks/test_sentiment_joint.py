"""The paper's protocol on the treebank: what its experiment says, what its row refuses, and inference by steps."""

from __future__ import annotations

import numpy as np
import pytest
import small_runs
import torch

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.lm import MultiplicativeLM
from tasks.engine.check import check
from tasks.sentiment.joint import infer_by_steps
from tasks.sentiment.settings import check_protocol


def test_the_paper_experiment_is_what_the_paper_says():
    cfg = small_runs.composed("experiment=sentiment_paper")
    check(cfg)
    check_protocol(cfg, ["atd-paper", "atd-joint"])
    assert cfg.optim.name == "sgd" and cfg.optim.samples == 0
    assert 0 < cfg.optim.lr_decay < 1 and cfg.optim.p_i < cfg.optim.p_f and cfg.trainer.max_epochs > cfg.optim.T
    assert cfg.inference.name == "sgd" and cfg.inference.samples is None and cfg.inference.l2 < 1e-6
    model = cfg.model
    assert model.activation == "relu" and model.gate_bias == 0 and not model.additive and not model.dropout
    assert model.context == 8 and model.K == 100 and model.D == 100 and model.vectors == "glove"
    assert {"word-average", "atd-paper"} <= set(cfg.task.rows)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("optim=adam", "atd-paper needs optim=sgd"),
        ("optim.samples=100", "atd-paper needs optim.samples=0"),
        ("model.activation=identity", "atd-paper needs model.activation=relu"),
        ("model.additive=true", "atd-paper needs model.additive=false"),
        ("inference=convex", "atd-joint needs inference=sgd"),
    ],
)
def test_the_row_of_the_paper_is_refused_where_it_would_be_another(setting, complaint):
    cfg = small_runs.composed("experiment=sentiment_paper", setting)
    with pytest.raises(AtdError, match=complaint):
        check_protocol(cfg, ["atd-paper", "atd-joint"])


@pytest.mark.parametrize("additive", [False, True])
def test_inference_by_steps_makes_texts_likelier_and_leaves_the_weights(additive):
    torch.manual_seed(0)
    model = MultiplicativeLM(9, 4, 4, 6, 2, 1, additive=additive)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    rng = np.random.default_rng(0)
    lengths = np.array([5, 1, 8])
    tokens = rng.integers(3, 9, lengths.sum()).astype(np.int32)
    texts = EncodedCorpus(tokens, np.concatenate([[0], np.cumsum(lengths)]), np.zeros(3, np.int32))
    start = torch.tensor([[0.3, 0.4, -1.0, 0.5], [0.2, 0.2, 0.2, 0.2], [0.1, 0.9, 0.5, -0.1]])
    before = {name: value.clone() for name, value in model.state_dict().items()}

    def nll(x_nD):
        x_TD = x_nD[torch.from_numpy(texts.owner).long()]
        return float(model.nll(torch.from_numpy(texts.windows(2)), texts.flat[0], x_TD).detach())

    x = infer_by_steps(model, texts, start, lr=0.05, epochs=30, l2=1e-9, seed=0)
    assert nll(x) < nll(start.relu()) - 0.01
    assert x.min() == 0 and x[0, 2] == 0  # what the rectifier holds back has no slope, in training and here
    assert torch.equal(x, infer_by_steps(model, texts, start, lr=0.05, epochs=30, l2=1e-9, seed=0))
    held = infer_by_steps(model, texts, start, lr=0.003, epochs=30, l2=300.0, seed=0)
    assert (held - start.relu()).norm() < 0.2 * (x - start.relu()).norm()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.requires_grad for parameter in model.parameters())
