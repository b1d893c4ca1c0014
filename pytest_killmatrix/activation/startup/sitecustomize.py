"""Python's start-up hook in the child interpreters of a test: found through PYTHONPATH, steps aside for a real one.

Kept to what every start of Python must pay for; the work is in ``interpreter``, loaded only where there is any.
"""

import os
import sys

_this = sys.modules[__name__]
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != _here or not place]
del sys.modules[__name__]
try:
    __import__(__name__)  # the user's own, if there is one
except ImportError:
    pass
finally:
    sys.modules.setdefault(__name__, _this)

if os.environ.get("PYTEST_KILLMATRIX_CHILD"):
    import importlib.util

    _spec = importlib.util.spec_from_file_location(
        "_killmatrix_interpreter", os.path.join(os.path.dirname(_here), "interpreter.py")
    )
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_module)
    _module.start(os.environ["PYTEST_KILLMATRIX_CHILD"])
