//! An LLM-serving engine in virtual time.
