//! How much of an input is read at most.

/// Bounds on what is read, so that a wrong path or a hostile file costs bounded memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest file that is read as a whole (a benchmark's result), bytes.
    pub file_bytes: u64,
    /// Longest line of a line-wise format, bytes.
    pub line_bytes: usize,
    /// Largest single metrics page, bytes; what lies beyond is unread.
    pub page_bytes: usize,
    /// Samples of a metrics history or of a log's statistics lines that are held; of a longer one every second page or line
    /// is, or every fourth, and so on.
    pub samples: usize,
    /// Series of a metrics history that are told apart; more are counted only.
    pub series: usize,
    /// Unreadable lines of an artefact that are kept with their reason; more are counted only.
    pub unread: usize,
    /// Folders below a given one that are looked into.
    pub depth: usize,
    /// Files of a folder that are looked at.
    pub files: usize,
    /// Layers of compression and archives that are peeled.
    pub nesting: usize,
    /// Entries of an archive that are looked at.
    pub entries: usize,
    /// Largest archive that is held in memory because it comes as a stream and its list stands at its end, bytes.
    pub held_archive_bytes: u64,
    /// Largest size of the runs in one archive, which are laid on disk while they are read, bytes.
    pub packed_bytes: u64,
    /// What all layers of an input may expand to in any case, bytes.
    pub expanded_free_bytes: u64,
    /// Beyond that, how many times larger than the input it may become.
    pub expansion: u64,
    /// What all layers of an input may expand to at most, bytes.
    pub expanded_bytes: u64,
    /// Whether weights of a model are read to their end, for a hash of every byte.
    pub whole_weights: bool,
}

impl Default for Limits {
    /// 1 GiB a result file, 64 MiB a line, 64 MiB a page, 8 million samples of 200,000 series, 20 reasons, 8 levels,
    /// 2,000 files, 5 layers, 100,000 entries, 256 MiB a held archive, 16 GiB of packed runs, 1 GiB expanded freely,
    /// 200 times beyond, 1 TiB in all.
    fn default() -> Self {
        Self {
            file_bytes: 1 << 30,
            line_bytes: 1 << 26,
            page_bytes: 1 << 26,
            samples: 8_000_000,
            series: 200_000,
            unread: 20,
            depth: 8,
            files: 2_000,
            nesting: 5,
            entries: 100_000,
            held_archive_bytes: 1 << 28,
            packed_bytes: 1 << 34,
            expanded_free_bytes: 1 << 30,
            expansion: 200,
            expanded_bytes: 1 << 40,
            whole_weights: false,
        }
    }
}
