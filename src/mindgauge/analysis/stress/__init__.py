"""The same reply in other forms, to see whether a judge's verdict follows the form; no model and no chance is at work here.

`items` are the replies, `rewriting` and `injection` write them anew, `probes` say what is compared with what, and
`instruments` turn what the judge is asked with.
"""
