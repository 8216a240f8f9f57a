//! From scanned messages to tool calls: what a recorder is told.
