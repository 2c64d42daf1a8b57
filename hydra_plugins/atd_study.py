"""Hydra looks for sweepers in this package only; what this one does is in tasks/engine/sweep/search.py."""

from __future__ import annotations

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper


class StudySweeper(Sweeper):
    """`hydra/sweeper=study`: Optuna proposes the settings of each job, any Hydra launcher runs them."""

    def setup(self, *, hydra_context, task_function, config) -> None:
        self.config, self.hydra_context = config, hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> float:
        from tasks.engine.check import check
        from tasks.engine.sweep.search import sweep

        assert self.config is not None and self.launcher is not None
        check(self.config)
        return sweep(self.config, arguments, self.launcher.launch)
