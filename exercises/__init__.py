"""The exercises of the chapter on automatic differentiation, one script each.

``python -m exercises`` runs them all, ``python -m exercises 4`` one.  Each computes its
answer, asserts it, explains it and draws what there is to see.
"""
