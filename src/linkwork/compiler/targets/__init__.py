"""Hardware targets of kernels: one folder for each target, with its printer, code loader and launcher.

Code outside a target's folder does not depend on its hardware. `target_interface` defines the interface of a target. To
add a target, add a folder; no other file changes.
"""

from linkwork.compiler.targets.target_interface import Batch, Code, OneStateCall, Port, Program, Target, target_named

__all__ = ["Batch", "Code", "OneStateCall", "Port", "Program", "Target", "target_named"]
