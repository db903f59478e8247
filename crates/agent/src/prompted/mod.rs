//! Calling tools by text, for models that know no tools.
