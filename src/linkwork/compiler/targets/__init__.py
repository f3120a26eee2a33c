"""Machines that kernels are compiled for and run on: one folder for each, with its printer, code loader and launcher.

Nothing outside a folder knows its machine. `target.py` says what a folder must provide; a new folder is a new target.
"""

from linkwork.compiler.targets.target import Batch, Code, OneStateCall, Port, Program, Target, target_named

__all__ = ["Batch", "Code", "OneStateCall", "Port", "Program", "Target", "target_named"]
