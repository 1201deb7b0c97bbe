"""Training steps in NumPy with gradients written by hand.

They do what autograd does, 2 to 4 times as fast: a step on 32 pages is so little arithmetic that
most of its time in torch is the overhead of recording operations. The networks in torch remain the
reference that tests compare with, and train on other devices than the CPU.

All numbers are single precision. Arrays of slots are laid out slot by slot, (K, n), or flat,
(K n,), for n pages of K slots.
"""

from . import dbn_gradients, examined_gradients
from .numpy_trainer import NumpyTrainer, gradients_of, has_gradients

__all__ = [
    "NumpyTrainer", "dbn_gradients", "examined_gradients", "gradients_of", "has_gradients",
]  # fmt: skip
