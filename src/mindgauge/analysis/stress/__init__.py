"""The same reply in other forms, to see whether a judge's verdict follows the form; no model and no chance is at work here.

`items` are the replies, `versions` write them anew, `probes` turn what the judge is
asked with, too, and say what is compared with what.
"""
