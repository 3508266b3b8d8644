"""The pictures of a report as static SVG, drawn wide and narrow; colours and fonts are the page's."""
