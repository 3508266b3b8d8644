"""The same reply in other forms, to see whether a judge's verdict follows the form; no model and no chance is at work here.

`items` are the replies, `rewriting` says them in other forms, `injection` puts attempts to talk a judge over into them;
`probes` turn what the judge is asked with, too, and say what is compared with what.
"""
