"""The same questions for any batch of states: where mechanism, algorithms and targets meet."""

from linkwork.evaluation import conserved_momenta as conserved_momenta  # these answer questions of mechanisms
from linkwork.evaluation import mobility as mobility
from linkwork.evaluation.dynamics import Dynamics, compile

__all__ = ["Dynamics", "compile"]
