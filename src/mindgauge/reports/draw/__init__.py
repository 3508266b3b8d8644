"""The pictures of a report as static SVG, drawn wide and narrow; colours and fonts are the page's.

`records` says what each picture shows, `dot_rows` draws dots with intervals, `canvas` holds the pen.
"""
