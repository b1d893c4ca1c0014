"""The matrix on a Dask cluster (``--kill-matrix-executor=dask``).

Three processes lie between the controller and a test: the *broker*, which alone loads Dask and speaks for the
controller; a Dask worker, which starts and asks; and the *held session*, an interpreter beside the worker in which
pytest has collected the project, and whose own children run the tests.
"""
