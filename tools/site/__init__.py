"""The documentation as a site: `python -m tools.site` gathers its pages in `build/docs` and makes `build/site`."""
