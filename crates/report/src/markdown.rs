//! Tables for a pull request.

use crate::{
    Style, deployments, evidence, isolation,
    layout::{Align, Table, escape},
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
    if let Some((fingerprint, more)) = deployments::fingerprint(&report.sides) {
        blocks.push(fingerprint.markdown());
        blocks.extend(more.map(|more| format!("{more}\n")));
    } else if let Some(compared) = sides::sides(&report.sides) {
        let shared = compared.shared.iter().map(|(name, text)| format!("- {name} of both: {}\n", escape(text)));
        blocks.push(compared.table.markdown());
        blocks.extend((!compared.shared.is_empty()).then(|| shared.collect()));
    }
    blocks.extend(list("Warnings", sides::warnings(&report.sides, style.all)));
    if !report.read.is_empty() {
        blocks.push(format!("### Read\n\n{}", evidence::read(&report.read).markdown()));
        blocks.extend(list("Of what was read", evidence::notes(&report.read)));
    }
    if !report.not_understood.is_empty() {
        let table = evidence::not_understood(&report.not_understood);
        blocks.push(format!("### Read and not understood\n\n{}", table.markdown()));
        blocks.extend(evidence::not_listed(&report.not_understood));
    }
    blocks.extend(comparability(report, style.all));
    blocks.extend(differences(report));
    if !report.cells.is_empty() {
        blocks.push(format!("### Cells\n\n{}", signatures::cells(&report.cells).markdown()));
    }
    for (title, table) in report.isolation.iter().flat_map(|found| isolation::tables(found, style.all)) {
        blocks.push(format!("### {title}\n\n{}", table.markdown()));
    }
    if let Some(found) = &report.sweep {
        blocks.push(sweep::summary(found).markdown());
        blocks.extend(sweep::levels(found).iter().map(|(title, table)| format!("### {title}\n\n{}", table.markdown())));
    }
    blocks.extend(metric_table(report, style.all));
    blocks.extend(signature_list(report));
    let chosen = stages::chosen(&report.stages);
    blocks.extend(chosen.splits.into_iter().map(split));
    blocks.extend(chosen.unseen.into_iter().map(|total| format!("{}\n", escape(&stages::unseen(total)))));
    blocks.extend((chosen.others > 0).then(|| format!("{} more splits: --format json\n", chosen.others)));
    blocks.extend(report.findings.iter().map(finding));
    let unread = report.unread.iter().map(|one| {
        let place = one.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{}{place}: {}", one.path, one.reason)
    });
    blocks.extend(list("Not read", unread.collect()));
    blocks.extend(list("Notes", report.notes.clone()));
    let seed = report.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    blocks.push(format!("<sub>{}{seed}</sub>\n", escape(&report.tool)));
    blocks.join("\n")
}

fn headline(report: &Report) -> String {
    let title = words::verdict(report.verdict).unwrap_or(&report.verb);
    let mut out = format!("## firstcheck: {}\n", escape(title));
    let invalid = report.invalid.iter().map(|why| format!("- **not to be believed:** {}\n", escape(why)));
    let why = report.why.iter().map(|why| format!("- {}\n", escape(why)));
    let found = report.findings.iter().filter_map(words::found);
    let found = found.map(|(lead, text)| format!("- **{lead}:** {}\n", escape(&text)));
    let lines: String = why.chain(invalid).chain(found).collect();
    if !lines.is_empty() {
        out += &format!("\n{lines}");
    }
    out
}

fn list(title: &str, items: Vec<String>) -> Option<String> {
    let lines: String = items.iter().map(|item| format!("- {}\n", escape(item))).collect();
    (!items.is_empty()).then(|| format!("### {title}\n\n{lines}"))
}

fn differences(report: &Report) -> Option<String> {
    if report.differences.is_empty() && report.one_sided.is_empty() {
        return None;
    }
    let mut out = String::from("### What differs\n");
    if !report.differences.is_empty() {
        out += &format!("\n{}", deployments::differences(&report.differences).0.markdown());
    }
    for sentence in
        deployments::more_differences(&report.differences).into_iter().chain(deployments::one_sided(&report.one_sided))
    {
        out += &format!("\n{}\n", escape(&sentence));
    }
    Some(out)
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
    (!items.is_empty()).then(|| format!("### Signatures\n\n{items}"))
}

fn metric_table(report: &Report, all: bool) -> Option<String> {
    let laid = metrics::metrics(report, all);
    let mut footnotes = laid.footnotes;
    if report.metrics.iter().any(|row| row.mde.is_some()) {
        footnotes.push(format!("finds: {}", metrics::MDE_MEANS));
    }
    let footnotes: String = footnotes.iter().map(|note| format!("\n{}\n", escape(note))).collect();
    (!report.metrics.is_empty()).then(|| format!("### Metrics\n\n{}{footnotes}", laid.table.markdown()))
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
    let command = follow_up.command.replace('`', "'").replace(['\n', '\r'], " ");
    let mut out = format!("  - next: {}: `{command}`", escape(&follow_up.measure));
    out += &match follow_up.requests {
        0 => " (sends nothing)\n".to_owned(),
        n => format!(" (sends {} requests)\n", number::count(u64::from(n))),
    };
    if let Some(mitigation) = &follow_up.mitigation {
        out += &format!("  - meanwhile: {}\n", escape(mitigation));
    }
    out
}
