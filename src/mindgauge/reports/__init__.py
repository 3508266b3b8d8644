"""The report: one offline page, the same content as JSON, and a summary for a pull request.

What is said of a figure comes with its metric (`benchmarks/metrics/metric_sentences.py`, and `benchmarks/NAME/NAME.py`,
such as the sentence on missed crises); here it is decided which figure is said first, and beside what.
"""
