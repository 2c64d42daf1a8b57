"""A device that no machine needs to have: its tensors lie on the CPU, but none may meet a tensor of the CPU.

    with PretendGPU():
        model.to(DEVICE)(batch.to(DEVICE))

Every operation is computed, so that one may ask for numbers, unlike on the meta device. A tensor that was made on the
CPU and forgotten there is refused by the operation that it meets, as by a GPU. A single number may meet both.
"""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch.accelerators import Accelerator
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend


class Backend(_DummyBackendModule):
    """What torch asks of the module of a device; autocast asks for this."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]


_setup_privateuseone_for_python_backend("pretend", Backend())
DEVICE = torch.device("pretend", 0)
MOVING = ("to", "_to_copy")
CROSSING = (*MOVING, "copy_")  # may have tensors of both


class Pretended(Tensor):
    """A tensor on the device, and the one of the CPU that has its numbers."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> Pretended:
        dense = {} if held.is_sparse else {"strides": held.stride(), "storage_offset": held.storage_offset()}
        made = Tensor._make_wrapper_subclass(
            cls, held.shape, **dense, layout=held.layout, dtype=held.dtype, device=DEVICE
        )
        made.held = held
        return made

    def __repr__(self, **_: Any) -> str:
        return f"Pretended({self.held})"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return perform(function, args, kwargs or {})


class PretendGPU(TorchDispatchMode):
    """While it lasts, `device="pretend"` makes tensors there."""

    def __enter__(self):
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor makes them on the CPU, and then calls `to`
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        torch._C._set_only_lift_cpu_tensors(False)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return perform(function, args, kwargs or {})


def perform(function: Any, args: tuple, kwargs: dict) -> Any:
    """The operation on the CPU, and what comes out on the device that it belongs to."""
    name = function.overloadpacket.__name__
    leaves = tree_leaves((args, kwargs))
    wanted = next((leaf for leaf in leaves if isinstance(leaf, torch.device)), None)
    ours = [isinstance(leaf, Pretended) for leaf in leaves if isinstance(leaf, Tensor)]
    strangers = [leaf for leaf in leaves if isinstance(leaf, Tensor) and not isinstance(leaf, Pretended) and leaf.dim()]
    if any(ours) and strangers and name not in CROSSING:
        raise AssertionError(f"{function}: a tensor of the CPU, {tuple(strangers[0].shape)}, meets those of a GPU")
    there = wanted.type == DEVICE.type if wanted else ours[0] if name in CROSSING else any(ours)
    inner, options = tree_map_only(Pretended, lambda tensor: tensor.held, (args, kwargs))
    inner, options = tree_map_only(torch.device, lambda _: torch.device("cpu"), (inner, options))
    out = function(*inner, **options)
    if not there:
        return out
    made = tree_map_only(Tensor, Pretended, out)
    if name in MOVING:
        return args[0] if ours[0] and out is inner[0] else made
    return return_and_correct_aliasing(function, args, kwargs, made)


class PretendAccelerator(Accelerator):
    """The device as Lightning's Trainer wants one."""

    def setup_device(self, device: torch.device) -> None: ...

    def teardown(self) -> None: ...

    @staticmethod
    def parse_devices(devices: Any) -> Any:
        return devices

    @staticmethod
    def get_parallel_devices(devices: Any) -> list[torch.device]:
        return [DEVICE]

    @staticmethod
    def auto_device_count() -> int:
        return 1

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def name() -> str:
        return DEVICE.type
