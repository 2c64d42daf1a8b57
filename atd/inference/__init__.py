"""Attribute vectors of unseen texts: `infer(model, tokens, offsets)` gives an `Inferred`, one x for each text.

Six files carry it, from the outside in:

- `infer` prepares what does not depend on x, cuts the texts into batches and gives each to a solver.
- `solvers` are the ways to an optimum: `convex`, for the one vector that a text has, and `sgd`, the paper's.
- `lbfgs` is the minimiser within `convex`.
- `newton` is the other one, in double precision, for texts that `lbfgs` leaves: those of models with extreme weights.
- `surrogate` is J at a fraction of its cost, with its gradient at one x: what `lbfgs` works on in a large vocabulary.
- `objective` is J itself and its gradient.

`bag_of_words` stands apart: a vector in a hundredth of the time, from which words a text has and not their order.

Four small ones serve them: `effect` says what x does to the hidden vector of a position, `words` which words the
softmax runs over, `preconditioner` where L-BFGS starts from, and `point` holds what a solver knows of each text.
"""

from atd.inference.bag_of_words import bag_of_words as bag_of_words
from atd.inference.infer import infer as infer
from atd.inference.point import Inferred as Inferred

__all__ = ["Inferred", "bag_of_words", "infer"]
