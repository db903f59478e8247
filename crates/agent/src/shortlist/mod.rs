//! Which tools a model gets to see.
