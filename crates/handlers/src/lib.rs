//! The built-in handlers, one file each.
