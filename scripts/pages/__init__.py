"""The documents as a site with search, and the pictures in them. `make docs` builds it from the same files that are in the repository.

drawing   shapes and texts of an SVG, in light and dark
pictures  the four pictures of docs/pictures
pages     the pages of the site, staged from the repository, and llms.txt
examples  the outputs and pictures of README and START, from real runs: `make examples`
links     dead links and anchors in Markdown
"""
