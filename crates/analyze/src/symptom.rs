//! Which check is meant by a symptom in somebody's own words.

use crate::{
    declare::Check,
    registry::{CHECKS, by_code_or_slug},
    spoken::spoken,
};
use firstcheck_model::finding::Family;

/// Share of what the words are worth that must be found for a check to be meant.
const ENOUGH: f64 = 0.4;
/// How alike two words must be, 0 to 1, to be the same one: short ones more than long ones.
const ALIKE: [f64; 2] = [0.95, 0.88];
/// Letters of a long word.
const LONG: usize = 5;
/// Words that say nothing of a symptom.
const EMPTY: [&str; 32] = [
    "a",
    "all",
    "always",
    "an",
    "and",
    "are",
    "as",
    "at",
    "be",
    "but",
    "by",
    "for",
    "from",
    "in",
    "is",
    "it",
    "its",
    "my",
    "of",
    "often",
    "on",
    "or",
    "our",
    "so",
    "sometimes",
    "that",
    "the",
    "time",
    "to",
    "very",
    "why",
    "with",
];

/// What a family's latency is called: one of the first words is said of no other, the rest may stand with it.
const LATENCIES: [(Family, &[&str], &[&str]); 2] = [
    (Family::FirstToken, &["ttft", "first"], &["token", "tokens"]),
    (Family::Stream, &["itl", "tpot", "inter"], &["token", "tokens", "gap", "gaps", "per", "output", "between"]),
];
/// Words for a latency that is worse, and for nothing else.
const WORSE: &str = "bad doubled grew grows high higher increase increased jumped late latency long longer p50 p90 p95 p99 \
                     regressed regression rises rose slow slower too up went worse";

/// The checks that `text` may mean: the one of that code or slug; all of a family of which it names the latency and no
/// more than that it is worse; else those that fit best, in whose symptom, slug, causes or page most of its words stand.
/// Empty where none fits.
pub fn meant(text: &str) -> Vec<&'static Check> {
    if let Some(check) = by_code_or_slug(text.trim()) {
        return vec![check];
    }
    if let Some(family) = of_latency(text) {
        return CHECKS.iter().copied().filter(|check| check.family == family).collect();
    }
    let asked = words(&in_full(text));
    if asked.is_empty() {
        return Vec::new();
    }
    let worths: Vec<Vec<f64>> = CHECKS.iter().map(|check| worths(&asked, check)).collect();
    // A word that many checks know tells less of which is meant.
    let weight = |at: usize| 1.0 / worths.iter().filter(|worth| worth[at] > 0.0).count().max(1) as f64;
    let weights: Vec<f64> = (0..asked.len()).map(weight).collect();
    let score = |worth: &[f64]| {
        worth.iter().zip(&weights).map(|(worth, weight)| worth * weight).sum::<f64>() / weights.iter().sum::<f64>()
    };
    let scored: Vec<(f64, &'static Check)> =
        worths.iter().map(|worth| score(worth)).zip(CHECKS.iter().copied()).collect();
    let best = scored.iter().map(|(score, _)| *score).fold(0.0, f64::max);
    let fits = |(score, _): &(f64, _)| *score >= ENOUGH && *score >= best - 1e-9;
    scored.into_iter().filter(fits).map(|(_, check)| check).collect()
}

/// The family whose latency is all that a text speaks of.
fn of_latency(text: &str) -> Option<Family> {
    let said: Vec<String> = parts(text).filter(|word| !EMPTY.contains(&word.as_str())).collect();
    let all = |own: &[&str], with: &[&str]| {
        let known = |word: &&String| {
            let word = word.as_str();
            own.contains(&word) || with.contains(&word) || WORSE.split(' ').any(|worse| worse == word)
        };
        said.iter().any(|word| own.contains(&word.as_str())) && said.iter().filter(known).count() == said.len()
    };
    LATENCIES.iter().find(|(_, own, with)| all(own, with)).map(|(family, ..)| *family)
}

/// A text with its latencies by the words that checks use.
fn in_full(text: &str) -> String {
    let word = |word: String| match word.as_str() {
        "ttft" => "first token".to_owned(),
        "itl" | "tpot" => "gap token".to_owned(),
        _ => word,
    };
    parts(text).map(word).collect::<Vec<_>>().join(" ")
}

/// The words of a text in lower case.
fn parts(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// What each word that was asked is worth for a check: 1 where it stands in its symptom or is said of it, less in its causes
/// and its page, 0 where it does not know it.
fn worths(asked: &[String], check: &Check) -> Vec<f64> {
    let title = words(&format!("{} {} {}", check.symptom, check.slug.replace('-', " "), spoken(check.code)));
    let causes: Vec<String> = check.causes.iter().flat_map(|cause| words(cause.means)).collect();
    let page: Vec<String> = check.doc.iter().flat_map(|line| words(line)).collect();
    let worth = |word: &String| {
        let stands = |text: &[String]| text.iter().any(|other| same(word, other));
        match () {
            () if stands(&title) => 1.0,
            () if stands(&causes) => 0.6,
            () if stands(&page) => 0.5,
            () => 0.0,
        }
    };
    asked.iter().map(worth).collect()
}

/// Its words that say something, without their endings.
pub(crate) fn words(text: &str) -> Vec<String> {
    parts(text).filter(|word| word.len() > 1 && !EMPTY.contains(&word.as_str())).map(|word| stem(&word)).collect()
}

/// A word without its ending: `freezes`, `freezing` and `frozen` are near each other then.
fn stem(word: &str) -> String {
    let endings = ["ing", "ed", "es", "s", "e"];
    let cut = endings.iter().find_map(|end| word.strip_suffix(end).filter(|rest| rest.len() >= 3));
    cut.unwrap_or(word).to_owned()
}

/// Most letters of an ending.
const ENDING: usize = 3;

/// Whether two words are one, but for a slip or an ending.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let near = |least: f64| one.len().abs_diff(other.len()) <= ENDING && strsim::jaro_winkler(one, other) >= least;
    one == other || near(ALIKE[usize::from(one.len() >= LONG)])
}
