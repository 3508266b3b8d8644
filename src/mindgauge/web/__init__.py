"""The annotation page: FastAPI and Jinja2 over an annotation project. Who may see what stands in `access`."""
