"""The same bound written in other frameworks, with the same parameters, data and noise, timed in turns."""
