"""Training steps with hand-written gradients in NumPy: what autograd does, without its overhead.

A step on 32 pages is so little arithmetic that most of its time in torch is overhead of recorded
operations. The networks of torch remain the reference, and train on other devices than the CPU.
Arrays of slots are laid out slot by slot, (K, n), or flat, (K n,).
"""

from .trainer import ByHand, can_train

__all__ = ["ByHand", "can_train"]
