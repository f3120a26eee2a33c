"""Friction laws of joints, one file for each law. `friction_law` defines their interface."""

from linkwork.model.friction.ball_socket import Socket
from linkwork.model.friction.bearing import Bearing, Sleeve
from linkwork.model.friction.constant_friction import DryFriction
from linkwork.model.friction.coupling_matrix import Coupling
from linkwork.model.friction.friction_law import FrictionLaw, FrictionLimit
from linkwork.model.friction.gear_teeth import Teeth
from linkwork.model.friction.guide import Guide
from linkwork.model.friction.thread import Thread

__all__ = [
    "Bearing",
    "Coupling",
    "DryFriction",
    "FrictionLaw",
    "FrictionLimit",
    "Guide",
    "Sleeve",
    "Socket",
    "Teeth",
    "Thread",
]
