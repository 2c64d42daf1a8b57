"""From a table of texts to a trained model, in one call.

    model = atd.AttributeModel(attributes=["age", "gender"]).fit(frame)
    model.most_similar("love", given={"gender": "f"})

It keeps to the conventions of scikit-learn, which it does not need: parameters are stored as they are given, `fit`
returns the estimator, what it learned ends in an underscore. Split, vocabulary, model and training are those of the
platform, and so are the weights.

n rows, D attribute dim.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from atd.design import KNOTS, as_text, terms_of
from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.joining import check_joinable, keep_average, usage_with
from atd.models import load
from atd.parameters import Parameters
from atd.progress import Line
from atd.table import TEST, TRAIN, VALIDATION, column_of, encode_table, is_table, names_of, texts_of, values_of
from atd.tokeniser import Tokeniser
from atd.trained import Trained
from atd.training import VALIDATION_WORDS, Training, limited, mean_nll, start, train

P = ParamSpec("P")
R = TypeVar("R")
ALONE = "attribute"  # the column of values that came without a name


def asked(verb: Callable[Concatenate[Trained, P], R]) -> Callable[Concatenate[AttributeModel, P], R]:
    """A method of a trained model as a method of the estimator that trained it."""

    @functools.wraps(verb)
    def ask(self: AttributeModel, *given: P.args, **options: P.kwargs) -> R:
        return verb(self.trained, *given, **options)

    return ask


class AttributeModel(Parameters):
    """Vectors for the attributes of texts, learned jointly with those of words.

    `attributes` are the columns that describe a text; each value of each has a vector, and those of a text add up. Or a
    `formula` says how they combine: `age*gender + industry` has vectors for pairs of age and gender, too. Columns of
    numbers that are named in `continuous` have vectors at five knots, or at as many as {"year": 9} says.

    `validation` is the share of rows that epochs are compared on, and as much again is never looked at in training;
    with 0 all rows are trained on. `group` names a column, such as the author, whose rows are on one side. `text` is
    the column of texts. `K`, `F`, `D` and `context` are sizes of the model, the others are those of `atd.Training`.

    With `init_from`, a trained model or its file, the rows join that model: its attributes, sizes and tokeniser are
    kept, and if it is to `freeze`, so are the vectors it has; only new words and new values learn.

    After `fit`: `model_` (an `atd.Trained`), `history_` (one dict per epoch), `split_` (of every row: 0 trained on, 1
    validation, 2 held out), `perplexity_` (of rows held out, or None).
    """

    def __init__(
        self,
        attributes: Sequence[str] | str | None = None,
        formula: str | None = None,
        continuous: Sequence[str] | Mapping[str, int] = (),
        *,
        text: str = "text",
        group: str | None = None,
        K: int = 100,
        F: int = 100,
        D: int = 32,
        context: int = 5,
        dropout: float = 0.2,
        epochs: int = 5,
        min_steps: int = 2000,
        patience: int = 2,
        batch_size: int | None = None,
        lr: float = 0.006,
        decay: float = 1.6,
        samples: int = 1000,
        tokeniser: Tokeniser | Mapping[str, Any] | str = "fast",
        min_count: int = 2,
        max_size: int | None = None,
        validation: float = 0.1,
        split_seed: int = 0,
        seed: int = 0,
        precision: str = "auto",
        threads: int | None = 1,
        device: str = "cpu",
        init_from: Trained | str | Path | None = None,
        freeze: bool = True,
        verbose: bool = False,
    ):
        self.attributes = attributes
        self.formula = formula
        self.continuous = continuous
        self.text = text
        self.group = group
        self.K = K
        self.F = F
        self.D = D
        self.context = context
        self.dropout = dropout
        self.epochs = epochs
        self.min_steps = min_steps
        self.patience = patience
        self.batch_size = batch_size
        self.lr = lr
        self.decay = decay
        self.samples = samples
        self.tokeniser = tokeniser
        self.min_count = min_count
        self.max_size = max_size
        self.validation = validation
        self.split_seed = split_seed
        self.seed = seed
        self.precision = precision
        self.threads = threads
        self.device = device
        self.init_from = init_from
        self.freeze = freeze
        self.verbose = verbose

    def fit(
        self, X: Any = None, y: Any = None, *, text: str | None = None, texts: Any = None, attributes: Any = None
    ) -> Self:
        """Learn from a table, or from `texts` and the `attributes` of each.

        X is a table, or a list of texts; y is then the attribute. Of a table that has all columns y is not used, so
        that a step after this one in a pipeline can learn it.
        """
        settings, self.text_ = self.training, text or self.text
        X = texts if texts is not None else X
        found = texts_of(X, self.text_)
        tables, alone = described(X, y, attributes)
        old = self._old()
        terms = self.terms(tables[0] if attributes is not None and tables else None, old)
        if old is not None:
            check_joinable(old, terms)
        values = columns_for(list(dict.fromkeys(itertools.chain(*terms))), tables, alone)
        group_n = None if self.group is None else columns_for([self.group], tables, None)[self.group]
        corpus, split_n = encode_table(
            found,
            values,
            terms,
            self._knots(list(values), old),
            self._tokeniser(old),
            self.min_count,
            self.max_size,
            self.validation,
            self.split_seed,
            group_n,
            old,
        )
        self.split_ = split_n
        self.values_ = {name: {as_text(value): value for value in column} for name, column in values.items()}
        return self._train(corpus, settings, old)

    def _train(self, corpus: EncodedCorpus, settings: Training, old: Trained | None) -> Self:
        part_n = corpus.columns["split"]
        texts, held = corpus.take(part_n == TRAIN), (part_n == VALIDATION).any()
        validation = corpus.take(part_n == VALIDATION) if held else None
        config = self.config if old is None else old.config
        design = texts.design if old is None or not self.freeze else keep_average(texts.design, old.design)
        with limited(settings.threads):
            model = start(config, [texts.vocabulary], design, settings.seed, old, self.freeze)
            self.history_ = train(model, texts, validation, settings, Line() if self.verbose else None)
            test = corpus.take(part_n == TEST).sample(VALIDATION_WORDS) if held else None
            self.perplexity_ = None if test is None else float(np.exp(mean_nll(model, test)))
        usage = usage_with(texts, design, old)
        self.model_ = Trained(model, [texts.vocabulary], design, config, self._tokeniser(old), usage)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The inferred vector of every text, whoever wrote it (n×D)."""
        return self.trained.encode(texts_of(X, self.text_))

    def fit_transform(self, X: Any = None, y: Any = None, **options: Any) -> np.ndarray:
        self.fit(X, y, **options)
        return self.transform(options.get("texts") if X is None else X)

    def predict(self, X: Any, column: str | None = None) -> np.ndarray:
        """The likeliest value of a column for every text (n), as it stood in the table."""
        names = self.trained.predict(texts_of(X, self.text_), column)
        column = column or next(iter(self.trained.columns))
        originals = self.values_[column]
        return np.array([originals.get(name, name) for name in names])

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of a word, in nats: under each text's own attributes, where they are given."""
        trained, texts = self.trained, texts_of(X, self.text_)
        tokens = trained.tokens(texts)
        tables, alone = described(X, y, None)
        known = {name for table in tables for name in names_of(table)}
        names = list(trained.columns)
        if sum(name not in known for name in names) > (alone is not None):
            return float(trained.log_likelihood(texts).sum() / len(tokens.tokens))
        values = columns_for(names, tables, alone)
        codes = [column.encode(values[column.name]) for column in trained.design.columns]
        ids, shares = trained.design.encode(codes)
        return -mean_nll(trained.model, EncodedCorpus(tokens.tokens, tokens.offsets, ids, shares=shares))

    most_similar = asked(Trained.most_similar)
    compare = asked(Trained.compare)
    generate = asked(Trained.generate)
    vector = asked(Trained.vector)
    vectors = asked(Trained.vectors)
    perplexity = asked(Trained.perplexity)
    log_likelihood = asked(Trained.log_likelihood)
    probabilities = asked(Trained.probabilities)
    save = asked(Trained.save)

    @property
    def trained(self) -> Trained:
        """The model, once there is one."""
        if not self.__sklearn_is_fitted__():
            raise AtdError("nothing is learned yet; call fit first")
        return self.model_

    @property
    def config(self) -> dict[str, Any]:
        """What `atd.models.build` makes the model from."""
        sizes = {name: plain(getattr(self, name)) for name in ("K", "F", "D", "context", "dropout")}
        fixed = {"gated": True, "additive": True, "free": 0, "shrink": True, "sparse": False, "vectors": None}
        return {"name": "atd", **sizes, **fixed}

    @property
    def training(self) -> Training:
        names = ("lr", "decay", "samples", "batch_size", "epochs", "min_steps", "patience", "seed", "precision")
        return Training(**{name: plain(getattr(self, name)) for name in (*names, "threads", "device")})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def terms(self, given: Any = None, old: Trained | None = None) -> list[tuple[str, ...]]:
        """What has vectors: as parameters say, else an old model, else the columns that were given, or the only one."""
        if self.formula is not None:
            if self.attributes is not None:
                raise AtdError("give attributes or a formula, not both")
            return terms_of(self.formula)
        names = [self.attributes] if isinstance(self.attributes, str) else self.attributes
        if names is None and old is not None:
            return old.design.formula
        names = names if names is not None else [ALONE] if given is None else names_of(given)
        return [(name,) for name in names]

    def _old(self) -> Trained | None:
        """The trained model that the rows join."""
        return load(self.init_from) if isinstance(self.init_from, str | Path) else self.init_from

    def _tokeniser(self, old: Trained | None) -> Tokeniser:
        return Tokeniser.of(self.tokeniser) if old is None or old.tokeniser is None else old.tokeniser

    def _knots(self, names: Sequence[str], old: Trained | None) -> dict[str, int]:
        if old is not None:
            return {column.name: len(column.knots) for column in old.design.columns if column.knots is not None}
        continuous = [self.continuous] if isinstance(self.continuous, str) else self.continuous
        knots = dict(continuous if isinstance(continuous, Mapping) else dict.fromkeys(continuous, KNOTS))
        if strange := [name for name in knots if name not in names]:
            raise AtdError(f"continuous: {strange[0]!r} is not among the attributes, which are {', '.join(names)}")
        return knots


def described(X: Any, y: Any, attributes: Any) -> tuple[list[Any], Any]:
    """(tables with columns that describe the texts, a column that has no name)."""
    tables = [one for one in (attributes, X, y) if one is not None and is_table(one)]
    return tables, next((one for one in (attributes, y) if one is not None and not is_table(one)), None)


def columns_for(names: Sequence[str], tables: Sequence[Any], alone: Any) -> dict[str, list[Any]]:
    """The values of the columns of these names; one that no table has may be `alone`. An empty name is none."""
    homes = {name: next((table for table in tables if name in names_of(table)), None) for name in names}
    missing = [name for name, home in homes.items() if home is None]
    if missing and (len(missing) > 1 or alone is None):
        there = ", ".join(str(name) for table in tables for name in names_of(table))
        has = f"the columns are {there}; name those that describe the texts, such as attributes=['age']"
        raise AtdError(
            f"there is no column {missing[0]!r}; {has if there else 'give the attribute of every text as y'}"
        )
    found = {name: values_of(alone) if home is None else column_of(home, name) for name, home in homes.items()}
    return {name: [None if isinstance(v, str) and not v else v for v in values] for name, values in found.items()}


def plain(value: Any) -> Any:
    """A number of NumPy, as searches hand them out, as Python's."""
    return value.item() if isinstance(value, np.generic) else value
