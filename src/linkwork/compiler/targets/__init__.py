"""Hardware targets of kernels: one folder for each, with its printer, code loader and launcher.

Code outside a folder does not depend on its hardware. `target_interface` defines what a folder must provide; a new
folder is a new target, without changes elsewhere.
"""

from linkwork.compiler.targets.target_interface import Batch, Code, OneStateCall, Port, Program, Target, target_named

__all__ = ["Batch", "Code", "OneStateCall", "Port", "Program", "Target", "target_named"]
