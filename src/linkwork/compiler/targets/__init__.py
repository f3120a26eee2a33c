"""Machines that kernels are compiled for and run on: one folder for each, with its printer, code loader and launcher.

Nothing outside a folder knows its machine. `target_interface` says what a folder must provide; a new folder is a new
target, without a change elsewhere.
"""

from linkwork.compiler.targets.target_interface import Batch, Code, OneStateCall, Port, Program, Target, target_named

__all__ = ["Batch", "Code", "OneStateCall", "Port", "Program", "Target", "target_named"]
