//! What somebody finds who looks at an engine that hangs.

use crate::{
    config::Hang,
    deployment::fleet::Fleet,
    emit::{attachment::Attachment, calendar::WallClock, hang},
};

/// How long a hang lasts before somebody looks, nanoseconds.
const PATIENCE: i64 = 60_000_000_000;

/// Watches for engines that hang.
#[derive(Debug)]
pub(super) struct DumpWatch {
    /// The latest hang of each replica, with when it began.
    hung: Vec<Option<(i64, Hang)>>,
}

impl DumpWatch {
    pub(super) fn new(fleet: &Fleet) -> Self {
        Self { hung: vec![None; fleet.members().len()] }
    }

    pub(super) fn look(&mut self, fleet: &Fleet, now_ns: i64) {
        for (hung, member) in self.hung.iter_mut().zip(fleet.members()) {
            if let (None, Some(hang)) = (&hung, &member.engine().config().hang) {
                *hung = Some((now_ns, hang.clone()));
            }
        }
    }

    /// The dumps of all engines that hung, taken after a minute. With several replicas each has a folder of its own.
    pub(super) fn finish(self) -> Vec<Attachment> {
        let alone = self.hung.len() == 1;
        let clock = WallClock::default();
        let of = |(place, hung): (usize, Option<(i64, Hang)>)| {
            let (since_ns, hang) = hung?;
            let pid = 2557 + 1000 * place as u32;
            let mut files = hang::dumps(&hang, clock.unix_ns(since_ns + PATIENCE), pid);
            if !alone {
                files.iter_mut().for_each(|file| file.name = format!("replica-{place}-{}", file.name));
            }
            Some(files)
        };
        self.hung.into_iter().enumerate().filter_map(of).flatten().collect()
    }
}
