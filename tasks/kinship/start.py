"""Where the model of meanings starts: in counts, as the paper's words start from a truncated SVD.

What a language does with each kind of meaning is a table: how much more often each unit occurs there than by the
letters of the language alone. The principal components of these tables over languages are the tensor T, and what each
language has of them is its vector x. Training goes on from there.

A languages (or gates dealt to the verses in their place), M meanings, K kinds of meaning, D language dim, V units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.meaning import MeaningModel, Said, letters
from tasks.kinship.counting import kinds

if TYPE_CHECKING:
    from datamodules.verses import Verses

PRIOR = 50.0  # so many occurrences of a unit are supposed as its letters have them: rare ones say little
STEP = 0.3  # of the way that counts suggest: n-grams of one word are not independent evidence


def model_of(data: Verses, K: int, D: int) -> MeaningModel:
    """A model of these verses; no language has more numbers than there are languages."""
    log_q_AV = letters(data.letter_counts())
    loader = data.batches_of("train")
    R_MK = kinds(data, K, data.seed) * data.meanings**0.5
    q_AV = log_q_AV.exp().numpy()
    tables = np.empty((len(loader.of_gate), data.units * R_MK.shape[1]), np.float32)
    for row, rows in zip(tables, loader.of_gate, strict=True):
        row[:] = table(loader.said(rows), R_MK, q_AV).ravel()
    mean, x_AD, T_D = components(tables, D)
    units = len(data.encoded["train"].tokens) / len(log_q_AV)  # of a language
    scale_V1 = 1 / np.sqrt(units * q_AV.mean(0) + PRIOR)[:, None]
    return MeaningModel(
        torch.from_numpy(R_MK).float(),
        torch.from_numpy(mean.reshape(data.units, -1) * scale_V1).float(),
        torch.from_numpy(T_D.reshape(len(T_D), data.units, -1) * scale_V1).float(),
        torch.from_numpy(STEP * x_AD).float(),
        log_q_AV,
    )


def table(said: Said, R_MK: np.ndarray, q_AV: np.ndarray) -> np.ndarray:
    """How much more often than by letters alone each unit goes with each kind of meaning, in standard errors (V×K)."""
    count_BV, letters_B = said.count_BV.numpy(), said.letters_B.numpy()
    r_BK = R_MK[said.meaning_B.numpy()].astype(np.float32)
    written, which_B = np.unique(letters_B, return_inverse=True)
    said_BL = np.eye(len(written), dtype=np.float32)[which_B] * count_BV.sum(1, keepdims=True)
    expected_VK = q_AV[written].T @ (said_BL.T @ r_BK)
    expected_V = q_AV[written].T @ said_BL.sum(0)
    return (count_BV.T @ r_BK - expected_VK) / np.sqrt(expected_V + PRIOR)[:, None]


def components(tables_AT: np.ndarray, D: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean, and the principal components as a product x T, of which both have a share in their size."""
    mean_T = tables_AT.mean(0)
    tables_AT -= mean_T
    values, axes = np.linalg.eigh((tables_AT @ tables_AT.T).astype(np.float64))
    u_AD, size_D = axes[:, ::-1][:, :D], np.sqrt(np.maximum(values[::-1][:D], 1e-12) / len(axes))
    x_AD = u_AD * np.sqrt(len(axes) * size_D)
    T_D = (u_AD / np.sqrt(len(axes) * size_D)).T.astype(np.float32) @ tables_AT
    return mean_T, x_AD, T_D
