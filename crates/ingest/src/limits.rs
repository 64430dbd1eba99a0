//! How much of an input is read at most.

/// Bounds on what is read, so that a wrong path or a hostile file costs bounded memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest result file, bytes.
    pub file_bytes: u64,
    /// Longest line of a line-wise format, bytes.
    pub line_bytes: usize,
    /// Largest metrics page, bytes; what lies beyond is unread.
    pub page_bytes: usize,
    /// Unreadable lines that are kept with their reason; more are counted only.
    pub unread: usize,
    /// Folders below a given one that are looked into.
    pub depth: usize,
    /// Files of a folder that are looked at.
    pub files: usize,
}

impl Default for Limits {
    /// 1 GiB a result file, 64 MiB a line, 64 MiB a page, 20 reasons, 3 levels, 2,000 files.
    fn default() -> Self {
        Self { file_bytes: 1 << 30, line_bytes: 1 << 26, page_bytes: 1 << 26, unread: 20, depth: 3, files: 2_000 }
    }
}
