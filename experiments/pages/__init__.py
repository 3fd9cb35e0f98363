"""The pages of results, made from the JSON files and nothing else: `python -m experiments.pages`.

One file for each experiment says what stands on its page; files that begin with an underscore say how. Numbers inside
sentences come from the JSON files too: `[[case | method | column]]` is a mean over seeds.
"""
