//! Bytes to evidence: detection, foreign result files, metrics pages, vocabulary.
