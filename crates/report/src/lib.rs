//! From a run directory to HTML, Markdown, CSV and JSON.
