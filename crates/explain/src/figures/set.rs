//! The set of figures: values with their units, meanings and sources, and texts beside them. What they are computed from is left
//! to the files beside this one.

use std::collections::BTreeMap;

use archive::model::Figure;

use super::text;

/// The unit of a share, 0 to 1.
pub(super) const SHARE: &str = "share";
/// The unit of a plain number.
pub(super) const NUMBER: &str = "1";
/// The unit of a rate of events.
pub(super) const PER_SECOND: &str = "1/s";

/// Figures and texts by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Figures {
    figures: BTreeMap<String, Figure>,
    /// Names that messages put in beside figures, such as that of a disk.
    texts: BTreeMap<String, String>,
}

/// What is common to several figures: their unit and source.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) unit: &'static str,
    pub(super) source: &'static str,
}

impl Figures {
    /// A figure; none where it is not known.
    pub(crate) fn get(&self, name: &str) -> Option<&Figure> {
        self.figures.get(name)
    }

    /// The value of a figure; none where it is not known.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        self.get(name).map(|figure| figure.value)
    }

    /// A figure or a text as a message shows it.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let figure = self.get(name).map(|figure| figure.text.as_str());
        figure.or_else(|| self.texts.get(name).map(String::as_str))
    }

    /// All values by name.
    pub(crate) fn values(&self) -> BTreeMap<String, f64> {
        self.figures.iter().map(|(name, figure)| (name.clone(), figure.value)).collect()
    }

    /// All figures, by name.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = &Figure> {
        self.figures.values()
    }

    /// All names, of figures and texts.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.figures.keys().chain(self.texts.keys()).map(String::as_str)
    }

    /// Adds a figure where it is known.
    pub(super) fn add(
        &mut self,
        name: impl Into<String>,
        value: Option<f64>,
        kind: Kind,
        about: impl Into<String>,
    ) {
        self.add_with_unit(name, value, kind.unit, kind.source, about);
    }

    pub(super) fn add_with_unit(
        &mut self,
        name: impl Into<String>,
        value: Option<f64>,
        unit: &str,
        source: &str,
        about: impl Into<String>,
    ) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let name = name.into();
        let figure = Figure {
            name: name.clone(),
            value,
            unit: unit.to_owned(),
            text: text::with_unit(value, unit),
            about: about.into(),
            source: source.to_owned(),
        };
        self.figures.insert(name, figure);
    }

    pub(crate) fn add_text(&mut self, name: &str, text: impl Into<String>) {
        self.texts.insert(name.to_owned(), text.into());
    }
}
