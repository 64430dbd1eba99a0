//! A comment for a pull request: what decides on one screen, the rest folded.

use crate::{
    Style, deployments, evidence,
    gated::{self, Weight},
    isolation,
    layout::{Align, Table, escape, tame},
    metrics, number, sides, signatures, source, stages, sweep, words,
};
use firstcheck_model::{
    finding::{Cause, Finding, FollowUp, Outcome},
    measurement::{Fact, Missing},
    report::{Report, SignatureRow, StageRow},
};

/// Lays out the report.
pub(crate) fn page(report: &Report, style: &Style) -> String {
    let mut blocks = vec![headline(report)];
    blocks.extend(gates(report));
    blocks.extend(next_steps(report));
    blocks.extend(list("Warnings", sides::warnings(&report.sides, style.all)));
    blocks.extend(comparability(report, style.all));
    blocks.extend(fold("What was measured", measured(report)));
    blocks.extend(fold("What differs", differences(report).into_iter().collect()));
    blocks.extend(fold("Cells, factors, rates", experiments(report, style.all)));
    blocks.extend(fold("Metrics", metric_table(report, style.all).into_iter().collect()));
    blocks.extend(fold("Where the time went", splits(report)));
    blocks.extend(fold("Signatures", signature_list(report).into_iter().collect()));
    blocks.extend(fold("Findings", report.findings.iter().map(finding).collect()));
    blocks.extend(fold("What was read", read(report)));
    blocks.extend(fold("Notes", list("", report.notes.clone()).into_iter().collect()));
    let again = report.command.iter().map(|call| format!("`{}`\n", tame(call).replace('`', "'")));
    blocks.extend(fold("Again", again.collect()));
    let seed = report.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    blocks.push(format!("<sub>{}{seed}</sub>\n", escape(&report.tool)));
    blocks.join("\n")
}

/// Blocks behind a line that opens them; nothing where there are none.
fn fold(title: &str, blocks: Vec<String>) -> Option<String> {
    let inner = blocks.join("\n");
    (!blocks.is_empty()).then(|| format!("<details><summary>{title}</summary>\n\n{inner}\n</details>\n"))
}

/// What the gate judged of all requests.
fn gates(report: &Report) -> Option<String> {
    let columns = ["metric", "base", "candidate", "change", "interval", "margin", "finds", "claim"];
    let mut table = Table::new(&columns.map(|name| match name {
        "metric" | "claim" => (name, Align::Left),
        _ => (name, Align::Right),
    }));
    let (rows, slices) = gated::whole(report);
    for row in &rows {
        let value = |side| number::quantity(side, &row.unit);
        let shown = [row.margin, row.mde].map(|size| size.map_or(String::new(), number::relative));
        let [margin, mde] = shown;
        let claim = match gated::of_claim(row.claim) {
            Weight::Fails => format!("❌ {}", words::claim(row.claim)),
            Weight::Untold | Weight::Warns => format!("⚠️ {}", words::claim(row.claim)),
            Weight::Fine => format!("✅ {}", words::claim(row.claim)),
        };
        let interval = row.interval.map_or(String::new(), number::change_interval);
        let change = number::change_of(row.ratio);
        table.row(vec![words::row(row), value(row.base), value(row.candidate), change, interval, margin, mde, claim]);
    }
    let slices = gated::worse_slices(slices).map_or(String::new(), |text| format!("\n{text}.\n"));
    (!rows.is_empty()).then(|| table.markdown() + &slices)
}

/// What to do about each symptom that is there: the command of its first cause that is supported, else of the first that
/// is open.
fn next_steps(report: &Report) -> Option<String> {
    let step = |finding: &Finding| {
        let Outcome::Present { causes, .. } = &finding.outcome else { return None };
        let of = |wanted: bool| {
            causes.iter().filter(move |cause| cause.is_supported() == wanted).find_map(|cause| match cause {
                Cause::Supported { follow_up, .. } | Cause::Open { follow_up, .. } => Some(follow_up),
                Cause::Excluded { .. } => None,
            })
        };
        Some(format!("- {}: {}\n", escape(&finding.code), follow(of(true).or_else(|| of(false))?)))
    };
    let steps: String = report.findings.iter().filter_map(step).collect();
    (!steps.is_empty()).then(|| format!("**Next**\n\n{steps}"))
}

fn measured(report: &Report) -> Vec<String> {
    let mut blocks = Vec::new();
    if let Some((fingerprint, more)) = deployments::fingerprint(&report.sides) {
        blocks.push(fingerprint.markdown());
        blocks.extend(more.map(|more| format!("{more}\n")));
    } else if let Some(compared) = sides::sides(&report.sides) {
        let shared = compared.shared.iter().map(|(name, text)| format!("- {name} of both: {}\n", escape(text)));
        blocks.push(compared.table.markdown());
        blocks.extend((!compared.shared.is_empty()).then(|| shared.collect()));
    }
    blocks
}

fn experiments(report: &Report, all: bool) -> Vec<String> {
    let mut blocks = Vec::new();
    if !report.cells.is_empty() {
        blocks.push(format!("### Cells\n\n{}", signatures::cells(&report.cells).markdown()));
    }
    for (title, table) in report.isolation.iter().flat_map(|found| isolation::tables(found, all)) {
        blocks.push(format!("### {title}\n\n{}", table.markdown()));
    }
    if let Some(found) = &report.sweep {
        blocks.push(sweep::summary(found).markdown());
        blocks.extend(sweep::levels(found).iter().map(|(title, table)| format!("### {title}\n\n{}", table.markdown())));
    }
    blocks
}

fn splits(report: &Report) -> Vec<String> {
    let chosen = stages::chosen(&report.stages);
    let mut blocks: Vec<String> = chosen.splits.into_iter().map(split).collect();
    blocks.extend(chosen.unseen.into_iter().map(|total| format!("{}\n", escape(&stages::unseen(total)))));
    blocks.extend((chosen.others > 0).then(|| format!("{} more splits: --format json\n", chosen.others)));
    blocks
}

fn read(report: &Report) -> Vec<String> {
    let mut blocks = Vec::new();
    if !report.read.is_empty() {
        blocks.push(evidence::read(&report.read).markdown());
        blocks.extend(list("Of what was read", evidence::notes(&report.read)));
    }
    if !report.not_understood.is_empty() {
        let table = evidence::not_understood(&report.not_understood);
        blocks.push(format!("### Read and not understood\n\n{}", table.markdown()));
        blocks.extend(evidence::not_listed(&report.not_understood));
    }
    let unread = report.unread.iter().map(|one| {
        let place = one.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{}{place}: {}", one.path, one.reason)
    });
    blocks.extend(list("Not read", unread.collect()));
    blocks
}

fn headline(report: &Report) -> String {
    let title = words::verdict(report.verdict).unwrap_or(&report.verb);
    let mut out = format!("## firstcheck: {}\n", escape(title));
    let invalid = report.invalid.iter().map(|why| format!("- **not to be believed:** {}\n", escape(why)));
    let (first, more) = gated::reasons(report);
    let why = first.iter().map(|why| format!("- {}\n", escape(why)));
    let found = report.findings.iter().filter_map(words::found);
    let found = found.map(|(lead, text)| format!("- **{lead}:** {}\n", escape(&text)));
    let lines: String = why.chain(invalid).chain(found).collect();
    if !lines.is_empty() {
        out += &format!("\n{lines}");
    }
    if let Some(folded) = fold(&format!("{} more reasons", more.len()), list("", more.to_vec()).into_iter().collect()) {
        out += &format!("\n{folded}");
    }
    out
}

fn list(title: &str, items: Vec<String>) -> Option<String> {
    let lines: String = items.iter().map(|item| format!("- {}\n", escape(item))).collect();
    let heading = if title.is_empty() { String::new() } else { format!("### {title}\n\n") };
    (!items.is_empty()).then(|| format!("{heading}{lines}"))
}

fn differences(report: &Report) -> Option<String> {
    if report.differences.is_empty() && report.one_sided.is_empty() {
        return None;
    }
    let mut out = String::new();
    if !report.differences.is_empty() {
        out += &format!("\n{}", deployments::differences(&report.differences).0.markdown());
    }
    for sentence in
        deployments::more_differences(&report.differences).into_iter().chain(deployments::one_sided(&report.one_sided))
    {
        out += &format!("\n{}\n", escape(&sentence));
    }
    Some(out.trim_start().to_owned())
}

fn comparability(report: &Report, every: bool) -> Option<String> {
    let columns = ["", "why", "what would mend it"].map(|name| (name, Align::Left));
    let mut table = Table::new(&columns);
    for (one, more) in deployments::rulings(&report.comparability, every) {
        let why = deployments::ruling(one) + &deployments::more_rulings(more);
        table.row(vec![one.level.name().to_owned(), why, one.mend.clone()]);
    }
    (!report.comparability.is_empty()).then(|| format!("### Whether it may be compared\n\n{}", table.markdown()))
}

fn signature_list(report: &Report) -> Option<String> {
    let item = |row: &SignatureRow| {
        let facts: String = row.facts.iter().map(|fact| format!("  - {}\n", escape(fact))).collect();
        let leads = escape(&signatures::leads(row));
        format!("- **{}**\n{facts}  - look at: {leads}\n", escape(&signatures::title(row)))
    };
    let items: String = signatures::present(report).map(item).collect();
    (!items.is_empty()).then_some(items)
}

fn metric_table(report: &Report, all: bool) -> Option<String> {
    let laid = metrics::metrics(report, all);
    let mut footnotes = laid.footnotes;
    if report.metrics.iter().any(|row| row.mde.is_some()) {
        footnotes.push(format!("finds: {}", metrics::MDE_MEANS));
    }
    let footnotes: String = footnotes.iter().map(|note| format!("\n{}\n", escape(note))).collect();
    (!report.metrics.is_empty()).then(|| format!("{}{footnotes}", laid.table.markdown()))
}

fn split(split: &[StageRow]) -> String {
    let table = stages::table(split, None);
    format!("### {}\n\n{}", escape(&stages::title(split)), table.markdown())
}

fn finding(finding: &Finding) -> String {
    let state = match &finding.outcome {
        Outcome::Present { .. } => words::severity(finding.severity),
        Outcome::Absent { .. } => "not there",
        Outcome::Undecided { .. } => "undecided",
        Outcome::NotApplicable { .. } => "not applicable",
    };
    let under = finding.consequence_of.as_ref().map(|of| format!(", a consequence of {of}")).unwrap_or_default();
    let title = format!("{} {} ({state}{under})", finding.code, finding.slug);
    let mut out = format!("### {}\n\n{}\n\n", escape(&title), escape(&finding.symptom));
    match &finding.outcome {
        Outcome::Present { facts: shown, causes, explains } => {
            if let Some(e) = explains {
                out += &format!("- {}\n", escape(&words::explained(e)));
            }
            out += &facts("", shown);
            causes.iter().for_each(|one| out += &cause(one));
        }
        Outcome::Absent { why } => out += &facts("", why),
        Outcome::Undecided { missing } => out += &lacks("", missing),
        Outcome::NotApplicable { why } => out += &format!("- {}\n", escape(why)),
    }
    out
}

fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Supported { id, means, facts: for_it, follow_up } => {
            format!("- **supported**: {} ({})\n{}{}", escape(means), escape(id), facts("  ", for_it), next(follow_up))
        }
        Cause::Excluded { id, means, facts: against } => {
            format!("- **excluded**: {} ({})\n{}", escape(means), escape(id), facts("  ", against))
        }
        Cause::Open { id, means, missing, follow_up } => {
            format!("- **open**: {} ({})\n{}{}", escape(means), escape(id), lacks("  ", missing), next(follow_up))
        }
    }
}

fn facts(indent: &str, facts: &[Fact]) -> String {
    let line = |fact: &Fact| {
        format!("{indent}- {} ({})\n", escape(&source::sentence(fact)), escape(&source::short(&fact.source)))
    };
    facts.iter().map(line).collect()
}

fn lacks(indent: &str, missing: &[Missing]) -> String {
    let line = |one: &Missing| {
        format!("{indent}- missing: {}; obtain: {}\n", escape(&words::missing(one)), escape(&one.obtain))
    };
    missing.iter().map(line).collect()
}

fn next(follow_up: &FollowUp) -> String {
    format!("  - next: {}\n", follow(follow_up))
        + &follow_up.mitigation.as_ref().map_or(String::new(), |text| format!("  - meanwhile: {}\n", escape(text)))
}

/// A follow-up with its command and what that costs.
fn follow(follow_up: &FollowUp) -> String {
    let command = tame(&follow_up.command).replace('`', "'");
    format!("{}: `{command}` ({})", escape(&follow_up.measure), words::cost(follow_up.requests))
}
