//! The first screen of a diagnosis: what a person reads at three in the morning, in 24 lines.
//!
//! What was read and how fresh it is; what changed; at most three causes with their evidence; what to do now and the next
//! command; the one missing thing that would settle most. `--all` gives the rest.

use super::Page;
use crate::{
    layout::{tame, width, wrap},
    number, sides, source,
    tone::Tone,
    words,
};
use firstcheck_model::{
    finding::{Cause, Finding, FollowUp, Outcome},
    first_look::{Affected, Change, Settles},
    measurement::Fact,
    report::{Claim, Quantity, Report},
};

/// Lines of the screen.
pub(super) const LINES: usize = 24;
/// Causes, and facts of each.
const CAUSES: usize = 3;
const FACTS: usize = 2;
/// Changes.
const CHANGES: usize = 3;
/// Columns of the words at the left.
const LEAD: usize = 9;
/// Replicas and open causes that are named; more are counted.
const NAMED: usize = 3;

/// Lays out the screen.
pub(super) fn screen(page: &mut Page, report: &Report) {
    let mut screen = Screen { page, left: LINES, began: None };
    screen.read(report);
    screen.changed(report);
    let present: Vec<&Finding> = report.findings.iter().filter(|finding| is_present(finding)).collect();
    match present.is_empty() {
        true => screen.nothing(report),
        false => screen.causes(&present),
    }
    // What is only open is measured before anything is changed for it.
    if let Some((follow_up, is_supported)) = first_follow_up(&present) {
        if is_supported {
            screen.now(follow_up);
        }
        screen.next(follow_up);
    }
    if let Some(most) = report.settles.first() {
        screen.settles(most);
    }
    screen.rest(report);
}

/// The page with how much of it is left.
struct Screen<'p> {
    page: &'p mut Page,
    left: usize,
    /// The word at the left of the section at hand, until it is written.
    began: Option<&'static str>,
}

impl Screen<'_> {
    /// Begins a section.
    fn section(&mut self, name: &'static str) {
        self.began = Some(name);
    }

    /// Text of at most `most` lines, cut with an ellipsis; `mark` stands before its first line.
    fn text(&mut self, mark: &str, text: &str, most: usize, tone: Tone) {
        let columns = self.page.style.width.saturating_sub(LEAD + width(mark)).max(self.page.least());
        let most = most.min(self.left);
        let lines = clipped(&tame(text), columns, most);
        for (at, line) in lines.iter().enumerate() {
            let name = self.began.take().unwrap_or_default();
            let name = self.page.paint(&format!("{name:<LEAD$}"), Tone::Bold);
            let mark = if at == 0 { mark.to_owned() } else { " ".repeat(width(mark)) };
            let line = self.page.paint(line, tone);
            self.page.line(format!("{name}{mark}{line}").trim_end());
            self.left -= 1;
        }
    }

    /// A command on a line of its own; never wrapped by us, so that it can be copied.
    fn command(&mut self, command: &str, requests: u32) {
        let command = tame(command);
        let columns = self.page.style.width.max(20);
        let lines = (width(&command) + LEAD + 2).div_ceil(columns);
        if lines > 2 || lines > self.left {
            return self.text("", "the command is long: --all shows it", 1, Tone::Dim);
        }
        let cost = match requests {
            0 => String::new(),
            n => format!("   # {}", words::cost(n)),
        };
        let fits = width(&command) + width(&cost) + LEAD + 2 <= columns;
        let cost = self.page.paint(if fits { &cost } else { "" }, Tone::Dim);
        self.page.line(&format!("{:LEAD$}$ {command}{cost}", ""));
        self.left -= lines;
    }

    /// What was read, how fresh it is, and what keeps it from being believed.
    fn read(&mut self, report: &Report) {
        self.section("read");
        let took = report.took_s.map_or(String::new(), |took| format!(" in {}", number::value(took, "s")));
        let mut lines = report.why.iter().map(String::as_str);
        self.text("", &format!("{}{took}", lines.next().unwrap_or_default()), 1, Tone::Plain);
        let rest: Vec<&str> = lines.collect();
        if !rest.is_empty() {
            self.text("", &rest.join(" · "), 2, Tone::Plain);
        }
        for failed in sides::failures(&report.sides) {
            self.text("! ", &failed, 1, Tone::Bad);
        }
        for reason in report.invalid.iter().take(2) {
            self.text("! ", &format!("not to be believed: {reason}"), 2, Tone::Bad);
        }
        if let Some(first) = report.unread.first() {
            let more = match report.unread.len() {
                1 => String::new(),
                all => format!(" (the first of {})", number::count(all as u64)),
            };
            let place = first.line.map_or(String::new(), |line| format!(":{line}"));
            let text = format!("not read: {}{place}: {}{more}", first.path, first.reason);
            self.text("! ", &text, 1, Tone::Warn);
        }
    }

    /// What changed, when, by how much, in which stage, on how many replicas.
    fn changed(&mut self, report: &Report) {
        self.section("changed");
        for (at, text) in changes(report).iter().enumerate() {
            self.text("", text, 2 - usize::from(at > 0), Tone::Plain);
        }
    }

    /// At most three findings with their supported causes, else that the cause is open.
    fn causes(&mut self, present: &[&Finding]) {
        self.section("cause");
        // What is done and what settles has its lines.
        const BELOW: usize = 9;
        let own: Vec<&&Finding> = present.iter().filter(|finding| finding.consequence_of.is_none()).collect();
        for (at, finding) in own.iter().take(CAUSES).enumerate() {
            let Outcome::Present { facts, causes, .. } = &finding.outcome else { continue };
            let supported: Vec<(&str, &[Fact])> = causes.iter().filter_map(supported).collect();
            let brought: Vec<&str> = present
                .iter()
                .filter(|other| other.consequence_of.as_ref() == Some(&finding.code))
                .map(|other| other.code.as_str())
                .collect();
            let under = if brought.is_empty() { String::new() } else { format!("; so {}", brought.join(", ")) };
            let title = match supported.as_slice() {
                [] => format!("{} {}: cause open{under}", finding.code, finding.symptom),
                all => {
                    let means: Vec<&str> = all.iter().map(|(means, _)| *means).collect();
                    format!("{} {}{under}", finding.code, means.join("; and "))
                }
            };
            let later = own.len().min(CAUSES) - at - 1;
            let room = self.left.saturating_sub(BELOW + 2 * later);
            self.text("", &title, 2.min(room.max(1)), Tone::Bold);
            let shown = supported.first().map_or(&facts[..], |(_, facts)| facts);
            for fact in shown.iter().take(FACTS) {
                if self.left > BELOW + 2 * later {
                    self.text("• ", &source::sentence(fact), 1, Tone::Plain);
                }
            }
        }
        if own.len() > CAUSES {
            let codes: Vec<&str> = own.iter().skip(CAUSES).map(|finding| finding.code.as_str()).collect();
            self.text("", &format!("found as well: {}", some(&codes, 8)), 1, Tone::Plain);
        }
    }

    /// Nothing was found: which is not that nothing is wrong.
    fn nothing(&mut self, report: &Report) {
        self.section("found");
        let undecided = codes(report, |outcome| matches!(outcome, Outcome::Undecided { .. }));
        let clear = codes(report, |outcome| matches!(outcome, Outcome::Absent { .. }));
        let mut text = match clear.len() {
            0 => "nothing".to_owned(),
            1 => format!("nothing in what one check could look at ({})", some(&clear, 8)),
            n => format!("nothing in what {n} checks could look at ({})", some(&clear, 8)),
        };
        if !undecided.is_empty() {
            text += &format!("; {} could not tell ({})", undecided.len(), some(&undecided, 8));
        }
        self.text("", &text, 2, Tone::Bold);
    }

    /// What can be done and undone now.
    fn now(&mut self, follow_up: &FollowUp) {
        if let Some(mitigation) = &follow_up.mitigation {
            self.section("do now");
            self.text("", &format!("{mitigation} (can be undone)"), 2, Tone::Plain);
        }
    }

    /// The next measurement.
    fn next(&mut self, follow_up: &FollowUp) {
        self.section("next");
        self.text("", &follow_up.measure, 2, Tone::Plain);
        self.command(&follow_up.command, follow_up.requests);
    }

    fn settles(&mut self, most: &Settles) {
        self.section("missing");
        let causes: Vec<&str> = most.causes.iter().map(String::as_str).collect();
        let checks: Vec<&str> = most.checks.iter().map(String::as_str).collect();
        let mut would = Vec::new();
        if !causes.is_empty() {
            would.push(format!("would settle {}", some(&causes, NAMED)));
        }
        if !checks.is_empty() {
            would.push(format!("would let {} tell", some(&checks, NAMED + 2)));
        }
        self.text("", &format!("{}: {}", most.what, would.join(", ")), 2, Tone::Plain);
        self.text("", &most.obtain, 1, Tone::Plain);
    }

    fn rest(&mut self, report: &Report) {
        let open = report.findings.iter().filter(|finding| is_present(finding)).count();
        let undecided = codes(report, |outcome| matches!(outcome, Outcome::Undecided { .. })).len();
        let clear = codes(report, |outcome| matches!(outcome, Outcome::Absent { .. })).len();
        let asked = if report.asked.is_empty() { String::new() } else { format!(" of {}", report.asked.join(", ")) };
        let text = format!(
            "{open} found, {undecided} undecided, {clear} clear{asked}: --all gives facts, sources and the rest"
        );
        self.section("");
        self.text("", &text, 1, Tone::Dim);
    }
}

/// What changed, or why that is not told; a sentence each, the first with the time of the onset.
pub(crate) fn changes(report: &Report) -> Vec<String> {
    let compared = report.sides.base.is_some() || report.began.is_some();
    if report.changes.is_empty() {
        let in_common = report.metrics.iter().any(|row| row.base.is_some() && row.candidate.is_some());
        let text = match (compared, in_common || report.began.is_some() && !report.metrics.is_empty()) {
            (true, true) => "nothing that a user would notice, by the metrics that both have",
            (true, false) => "not told: the two sides have no metric in common",
            (false, _) => "not told: there is no base (--base), and no onset in it",
        };
        return vec![text.to_owned()];
    }
    let since = report.began.as_ref().map(|began| match began.unix_s.and_then(clock) {
        Some(clock) => format!("since {clock} ({:.0} s into {}): ", began.at_s, began.run),
        None => format!("since {:.0} s into {}: ", began.at_s, began.run),
    });
    let mut texts: Vec<String> = report.changes.iter().take(CHANGES).map(changed).collect();
    if let (Some(since), Some(first)) = (since, texts.first_mut()) {
        first.insert_str(0, &since);
    }
    texts
}

/// What to do about the first cause that is supported (`true`), else the first that is open.
pub(crate) fn first_follow_up<'f>(present: &[&'f Finding]) -> Option<(&'f FollowUp, bool)> {
    let of = |supported| present.iter().find_map(|finding| follow_up(finding, supported)).map(|one| (one, supported));
    of(true).or_else(|| of(false))
}

pub(crate) fn is_present(finding: &Finding) -> bool {
    matches!(finding.outcome, Outcome::Present { .. })
}

fn codes(report: &Report, of: fn(&Outcome) -> bool) -> Vec<&str> {
    report.findings.iter().filter(|finding| of(&finding.outcome)).map(|finding| finding.code.as_str()).collect()
}

fn supported(cause: &Cause) -> Option<(&str, &[Fact])> {
    match cause {
        Cause::Supported { means, facts, .. } => Some((means, facts)),
        _ => None,
    }
}

/// The follow-up of the first cause that is supported, or that is open.
fn follow_up(finding: &Finding, of_supported: bool) -> Option<&FollowUp> {
    let Outcome::Present { causes, .. } = &finding.outcome else { return None };
    causes.iter().find_map(|cause| match cause {
        Cause::Supported { follow_up, .. } if of_supported => Some(follow_up),
        Cause::Open { follow_up, .. } if !of_supported => Some(follow_up),
        _ => None,
    })
}

/// `TTFT p95 120 ms → 380 ms (× 3.2, n = 600); queue +240 ms (92 %); on 1 of 2 replicas (replica-1)`.
fn changed(change: &Change) -> String {
    let stat = if change.stat == "total" { String::new() } else { format!(" {}", change.stat) };
    let ratio = match (change.base, change.candidate) {
        (Quantity::Finite(before), Quantity::Finite(now)) if before != 0.0 => number::change(now / before),
        _ => String::new(),
    };
    let n = change.n.iter().copied().flatten().min().map(|n| format!("n = {}", number::count(n)));
    let aside: Vec<String> = [Some(ratio).filter(|ratio| !ratio.is_empty()), n].into_iter().flatten().collect();
    let aside = if aside.is_empty() { String::new() } else { format!(" ({})", aside.join(", ")) };
    let of = |quantity| number::quantity(Some(quantity), &change.unit);
    let mut text = format!("{}{stat} {} → {}{aside}", change.metric.label(), of(change.base), of(change.candidate));
    match change.claim {
        Claim::NotComparable => text += "; what was offered differs",
        Claim::NotClaimable => text += "; too few requests to claim it",
        _ => {}
    }
    if let Some(stage) = &change.stage {
        let share = stage.share.map_or(String::new(), |share| format!(" ({})", number::share(share)));
        text += &format!("; {} {}{share}", stage.stage, number::signed(stage.delta, "s"));
    }
    if let Some(replicas) = &change.replicas {
        text += &format!("; {}", on(replicas));
    }
    text
}

fn on(replicas: &Affected) -> String {
    let names: Vec<&str> = replicas.worse.iter().map(String::as_str).collect();
    match (replicas.worse.len() as u64, replicas.of) {
        (0, of) => format!("on none of {of} replicas by itself"),
        (worse, of) if worse == of => format!("on all {of} replicas"),
        (worse, of) => format!("on {worse} of {of} replicas ({})", some(&names, NAMED)),
    }
}

/// The time of day of Unix seconds, in UTC; the day is that of what was read.
fn clock(unix_s: f64) -> Option<String> {
    const DAY: u64 = 86_400;
    let whole = unix_s.is_finite() && unix_s >= 0.0;
    let of_day = whole.then_some(unix_s as u64 % DAY)?;
    Some(format!("{:02}:{:02}:{:02}Z", of_day / 3600, of_day / 60 % 60, of_day % 60))
}

/// The first few of a list, and how many more there are.
fn some(names: &[&str], most: usize) -> String {
    match names.len() > most {
        true => format!("{} and {} more", names[..most].join(", "), names.len() - most),
        false => names.join(", "),
    }
}

/// `text` wrapped, and cut with an ellipsis where it takes more than `most` lines.
fn clipped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(text, columns);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let keep = columns.saturating_sub(2);
            *last = format!("{} …", last.chars().take(keep).collect::<String>().trim_end());
        }
    }
    // A word that is longer than a line.
    let cut = |line: String| match width(&line) > columns {
        true => format!("{}…", line.chars().take(columns - 1).collect::<String>()),
        false => line,
    };
    lines.into_iter().map(cut).collect()
}
