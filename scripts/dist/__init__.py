"""Makes the packages that people get, from the static program of `make release`. `make dist` calls it.

release       what is packed: programs, completions, manual pages, pages of docs, licences, list of contents; the same files for every package
dependencies  the crates that the program contains, from `cargo metadata`, with the texts of their licences
sbom          these crates as a list of contents (CycloneDX)
tarball       a tar that unpacks into any prefix
debian        a .deb
wheel         a Python wheel that carries the program
roots         each package in bare roots of Debian: `make dist-try`
twice         two builds in two directories, compared: `make dist-check`

The same program and commit make the same bytes: names are sorted, and every time is that of the commit.
"""
