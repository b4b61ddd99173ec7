"""Models of users against servers of known behaviour: open, partly open and closed loops at one load, and a freeze.

file        what it holds
__main__    the command line, and one run of the engine
models      each model as a scenario, and a simulation of it
report      the page
"""
