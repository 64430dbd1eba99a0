//! A run on disk: journal, Parquet, salvage and run.json.
