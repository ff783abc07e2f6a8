//! Keeps the house tidy.
