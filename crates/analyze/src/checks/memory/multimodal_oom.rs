//! S18: the engine runs out of device memory on images while KV pages are free.

use crate::{
    case::Case,
    declare_check,
    measure::device_memory_failure::{DeviceMemory, DeviceMemoryFailure, Within},
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    evidence::RunEvidence,
    finding::{FollowUp, Outcome},
    measurement::{Fact, Missing, Source, Why},
    request::{Fate, Request},
    signal::{Part, Series, Signal},
    unit::Bytes,
};

declare_check! {
    /// ## What it means
    ///
    /// The engine serves, images come, and it dies of too little device memory although most of its KV pages are free.
    /// The KV pool was taken once at the start and gives nothing back: what an encoder needs for a moment has to come
    /// from what the start left over.
    ///
    /// ## How it is decided
    ///
    /// The symptom is the log: a failed allocation after the server was ready, in frames of an encoder, in a front end, or in
    /// the language model of a server that takes images, with KV usage up to {full}. At the start it is S14.
    ///
    /// - Another process: the text's total less free and own memory leaves {others}, or a front end raised it.
    /// - Image tokens: prompts have {tokens} times the tokens of the base's: sizes are not what the engine assumes.
    /// - The encoder's peak: its frames, prompts like the base's, and fewer than {worked} were encoded before: the
    ///   profile at the start did not hold it.
    /// - Embeddings retained: {worked} or more were encoded before it failed, and the base, with prompts like these,
    ///   does not fail: what images leave behind grows. Memory of the device over time proves it.
    /// - Utilisation: the engine may take {utilisation} of the device or more, and the encoder asked for less than
    ///   {transient}.
    /// - The language model's own activations: its frames.
    ///
    /// ## What to do
    ///
    /// Lower `--gpu-memory-utilization` by the peak, or let the profile see it (`--limit-mm-per-prompt` as used). Pass size
    /// limits to the engine (`max_pixels` in `--mm-processor-kwargs`), not to a processor of the client's. Keep
    /// preprocessing off the GPU.
    ///
    /// Looks like: a start that fails (S14); memory that grows slowly (S17).
    pub static MULTIMODAL_OOM = {
        code: "S18", slug: "multimodal-oom", family: Memory, severity: Critical,
        symptom: "the engine runs out of device memory on images while KV pages are free",
        needs: all_of[EngineLog],
        params: {
            others: 0.5e9 ["B"] = "memory of other processes that counts",
            tokens: 1.25 ["1"] = "how many times the base's prompt tokens count as larger images",
            worked: 4.0 ["images"] = "images encoded before, from which the profile did hold the peak",
            utilisation: 0.95 ["1"] = "share of the device from which nothing is left for a moment's need",
            transient: 1.1e9 ["B"] = "allocation that a device with a sound reserve has room for",
            full: 0.9 ["1"] = "KV usage up to which pages are free",
        },
        causes: {
            EncoderPeak: "encoder-peak" = "the encoder's peak was not part of the start's profile",
            ImageTokens: "image-tokens" = "images become far more tokens than the engine was set up for",
            OtherProcess: "other-process" = "another process on the device holds or asks for the memory",
            EmbeddingsRetained: "embeddings-retained" = "embeddings of images are kept: memory grows with each new image",
            UtilisationTooHigh: "utilisation-too-high" = "the engine took so much of the device that a moment's need finds no room",
            LanguageModelActivation: "language-model-activation" = "a prefill of the language model needs the memory, not the encoder",
        },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let side = case.side;
    let memory = side.measure::<DeviceMemory>()?;
    let Some(failure) = &memory.0 else {
        let text = "no allocation of device memory failed after the server was ready";
        let from = side.evidence.logs.iter().map(|log| Source::line(&log.label, log.lines)).collect();
        let source = Source::Derived { by: "logs to their ends".into(), from };
        return Ok(Outcome::Absent { why: vec![Fact::told(text, source)] });
    };
    let images = images_before(case);
    let takes_images = failure.within == Within::Encoder || images.is_some();
    if !takes_images && failure.within != Within::FrontEnd {
        let what = "whether requests carried images: no frame of an encoder, and no count of images";
        return Err(Missing::not_exposed(what, "vllm:mm_cache_queries_total of /metrics, or the whole traceback"));
    }
    let mut facts = vec![failure.fact(words(failure), failure.tried)];
    match kv_usage(side) {
        Some((usage, fact)) if usage > params.full => {
            return Ok(Outcome::Absent { why: vec![facts.remove(0), fact] });
        }
        usage => facts.extend(usage.map(|(_, fact)| fact)),
    }
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::OtherProcess, other_process(failure, params));
    verdict.weigh(Cause::LanguageModelActivation, Ok(language_model(failure)));
    verdict.weigh(Cause::ImageTokens, image_tokens(case, params));
    let elsewhere = verdict.supports(Cause::OtherProcess) || verdict.supports(Cause::LanguageModelActivation);
    let larger = verdict.supports(Cause::ImageTokens);
    let not_encoder = (elsewhere || larger).then(|| failure.fact("what is named above explains it", None));
    let encoded = images.ok_or_else(|| {
        Missing::not_exposed(
            "images that were encoded before it failed",
            "scrape vllm:mm_cache_queries_total each second",
        )
    });
    for (cause, few) in [(Cause::EncoderPeak, true), (Cause::EmbeddingsRetained, false)] {
        verdict.weigh(
            cause,
            match (&not_encoder, &encoded) {
                (Some(fact), _) => Ok(Weighed::Excludes(vec![fact.clone()])),
                (None, Err(missing)) => Err(missing.clone()),
                (None, Ok((count, fact))) => match ((*count < params.worked) == few, few) {
                    (false, _) => Ok(Weighed::Excludes(vec![fact.clone()])),
                    (true, true) => Ok(Weighed::Supports(vec![fact.clone()])),
                    (true, false) => retained(case, fact),
                },
            },
        );
    }
    verdict.weigh(Cause::UtilisationTooHigh, utilisation(side, failure, params));
    Ok(verdict.present(facts, None, follow_up))
}

/// Images went well before: more at once, or larger ones, need more as well, unless the base had the same.
fn retained(case: &Case<'_>, fact: &Fact) -> Result<Weighed, Missing> {
    let lasted = |base: &Side<'_>| base.measure::<DeviceMemory>().is_ok_and(|memory| memory.0.is_none());
    let answers = |base: &Side<'_>| base.evidence.runs.iter().any(|run| run.requests.0.iter().any(answered));
    if !case.base.is_some_and(|base| lasted(base) || (base.measure::<DeviceMemory>().is_err() && answers(base))) {
        let what = "memory of the device over time, or the same requests on a base that does not fail";
        return Err(Missing::not_given(what, "nvidia-smi --query-gpu=timestamp,memory.used --format=csv -l 1"));
    }
    let text = format!("{}; the base, with prompts like these, does not fail", fact.text);
    Ok(Weighed::Supports(vec![Fact { text, ..fact.clone() }]))
}

fn answered(request: &Request) -> bool {
    request.fate == Fate::Completed
}

fn words(failure: &DeviceMemoryFailure) -> String {
    let size = |bytes: Option<Bytes>| bytes.map(|bytes| format!("{:.0} MiB", bytes.0 / Bytes::MIB));
    let of = |what: &str, bytes| size(bytes).map(|size| format!("{what} {size}"));
    let process = failure.process.as_deref().unwrap_or("a process");
    let parts = [of("asked for", failure.tried), of("free", failure.free), of("of", failure.total)];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    let frame = failure.frame.as_deref().map(|frame| format!(", in {frame}")).unwrap_or_default();
    format!("{process} ran out of device memory{frame}: {}", told.join(", "))
}

/// Images before the end: those that the engine counted, else those of the requests that were answered, by the base's
/// images a request. A counter that stands at zero is that of an engine that has ended or begun anew.
fn images_before(case: &Case<'_>) -> Option<(f64, Fact)> {
    let counted = |side: &Side<'_>, of: fn(&Series) -> f64| {
        let runs = side.evidence.runs.iter().flat_map(|run| run.signals.iter().map(move |series| (run, series)));
        let images = runs.filter(|(_, series)| series.name.contains("mm_cache_queries") && series.part == Part::Value);
        let all = images.filter_map(|(run, series)| {
            let source = Source::Series {
                run: run.info.id.clone(),
                name: series.name.clone(),
                labels: series.labels.render(),
                from_ns: *series.at.first()?,
                to_ns: *series.at.last()?,
            };
            Some((of(series), source))
        });
        all.filter(|(images, _)| *images > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let fact = |images: f64, text: String, source: Source| {
        (images, Fact { value: Some(images), unit: Some("images".into()), ..Fact::told(text, source) })
    };
    let most = |series: &Series| series.value.iter().copied().fold(0.0, f64::max);
    if let Some((images, source)) = counted(case.side, most) {
        return Some(fact(images, format!("{images:.0} images were looked up before it failed"), source));
    }
    let grown =
        |series: &Series| series.value.last().zip(series.value.first()).map_or(0.0, |(last, first)| last - first);
    let base = case.base?;
    let (of_base, source) = counted(base, grown)?;
    let windows = base.evidence.runs.iter().flat_map(RunEvidence::window);
    let completed = windows.filter(|(_, request)| answered(request)).count();
    let each = (completed > 0).then(|| of_base / completed as f64)?;
    let mut rows = case.side.evidence.runs.iter().flat_map(|run| &run.requests.0).peekable();
    rows.peek()?;
    let begun = rows.filter(|request| request.first_token.reached()).count();
    let images = each * begun as f64;
    let text = format!(
        "about {images:.0} images before it failed: {begun} requests had a token, and the base's carry {each:.2} each"
    );
    Some(fact(images, text, source))
}

/// The highest KV usage that was scraped while the engine lived.
fn kv_usage(side: &Side<'_>) -> Option<(f64, Fact)> {
    let series = side
        .evidence
        .runs
        .iter()
        .flat_map(|run| run.series(Signal::KvCacheUsage, Part::Value).map(move |one| (run, one)));
    let all = series.filter_map(|(run, one)| {
        let most = one.value.iter().copied().max_by(f64::total_cmp)?;
        let (name, labels) = (one.name.clone(), one.labels.render());
        let source = Source::Series {
            run: run.info.id.clone(),
            name,
            labels,
            from_ns: *one.at.first()?,
            to_ns: *one.at.last()?,
        };
        let text = format!("KV usage was at most {:.0} %", most * 100.0);
        let n = Some(one.value.len() as u64);
        Some((most, Fact { value: Some(most), unit: Some("1".into()), n, ..Fact::told(text, source) }))
    });
    all.max_by(|a, b| a.0.total_cmp(&b.0))
}

fn other_process(failure: &DeviceMemoryFailure, params: &Params) -> Result<Weighed, Missing> {
    if failure.within == Within::FrontEnd {
        let process = failure.process.as_deref().unwrap_or("a front end");
        return Ok(Weighed::Supports(vec![failure.fact(format!("{process} raised it: it holds no KV"), None)]));
    }
    let Some(others) = failure.others() else {
        return Err(Missing::not_exposed(
            "memory of this process and of the others",
            "nvidia-smi -q -x > gpus.xml, while it serves",
        ));
    };
    let fact =
        failure.fact(format!("other processes hold {:.2} GiB of the device", others / Bytes::GIB), Some(Bytes(others)));
    Ok(Weighed::by(others > params.others, vec![fact]))
}

fn language_model(failure: &DeviceMemoryFailure) -> Weighed {
    let frame = failure.frame.as_deref().unwrap_or("a frame that is not told");
    match failure.within {
        Within::LanguageModel => {
            Weighed::Supports(vec![failure.fact(format!("no frame of an encoder; {frame}"), None)])
        }
        Within::Encoder | Within::FrontEnd => {
            Weighed::Excludes(vec![failure.fact(format!("it failed in {frame}"), None)])
        }
        Within::Unknown => {
            Weighed::from(Missing::not_exposed("frames of the traceback", "give the server's log as it was written"))
        }
    }
}

/// Prompt tokens as the server counted them, failed requests included: those are the ones with the large images.
fn prompt_mean(side: &Side<'_>) -> Result<(f64, u64), Missing> {
    let tokens = |request: &Request| request.prompt_tokens.map(f64::from);
    let all: Vec<f64> = side.evidence.runs.iter().flat_map(|run| run.requests.0.iter().filter_map(tokens)).collect();
    let n = all.len() as u64;
    if n == 0 {
        return Err(Missing::not_exposed("prompt tokens as the server counts them", "firstcheck run --url URL"));
    }
    Ok((all.iter().sum::<f64>() / n as f64, n))
}

fn image_tokens(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    let base = case.base_for("prompt tokens")?;
    let ((now, n), (before, _)) = (prompt_mean(case.side)?, prompt_mean(base)?);
    let ratio = now / before.max(1.0);
    let runs = &case.side.evidence.runs;
    let source = Source::Derived { by: "mean prompt tokens".into(), from: crate::measure::counters::runs_of(runs) };
    let text = format!("prompts have {now:.0} tokens, the base's {before:.0}: {ratio:.2} times");
    let fact = Fact { value: Some(ratio), unit: Some("1".into()), n: Some(n), ..Fact::told(text, source) };
    Ok(Weighed::by(ratio > params.tokens, vec![fact]))
}

fn utilisation(side: &Side<'_>, failure: &DeviceMemoryFailure, params: &Params) -> Result<Weighed, Missing> {
    let stated = side.evidence.runs.iter().map(|run| &run.info.fingerprint).chain([&side.evidence.stated]);
    let Some(share) = stated.filter_map(|print| print.number("gpu_memory_utilization")).next() else {
        return Err(Missing::not_exposed(
            "the share of the device that the engine may take",
            "firstcheck fingerprint URL",
        ));
    };
    let Some(tried) = failure.tried else {
        return Err(Missing {
            what: "bytes that were asked for".into(),
            why: Why::NotExposed,
            obtain: "give the server's log as it was written".into(),
        });
    };
    let fact = failure.fact(format!("the engine may take {share} of the device"), Some(tried));
    let high = share >= params.utilisation && tried.0 < params.transient;
    Ok(Weighed::by(high, vec![fact]))
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, requests, mitigation) = match cause {
        Cause::EncoderPeak => (
            "send one request with the largest images alone to a fresh server, and watch the device's memory",
            "nvidia-smi --query-gpu=memory.used --format=csv -lms 100",
            1,
            "lower --gpu-memory-utilization by the peak over the device's memory",
        ),
        Cause::ImageTokens => (
            "count the tokens of one image as the server does, and compare with what its processor is set up for",
            "curl -s URL/v1/chat/completions -d @one-image.json | jq .usage.prompt_tokens",
            1,
            "--mm-processor-kwargs '{\"max_pixels\": …}' at the server",
        ),
        Cause::OtherProcess => (
            "list the processes on the device",
            "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv",
            0,
            "move image preprocessing to the CPU, or the other process to another device",
        ),
        Cause::EmbeddingsRetained => (
            "send fifty different images one by one: memory that does not come back is kept per image",
            "nvidia-smi --query-gpu=memory.used --format=csv -l 1 (beside firstcheck run)",
            50,
            "restart the replica; then cap or clear the encoder's cache",
        ),
        Cause::UtilisationTooHigh => (
            "repeat with a tenth less of the device",
            "grep -E 'gpu-memory-utilization|Available KV cache' server.log",
            1,
            "lower --gpu-memory-utilization to 0.9",
        ),
        Cause::LanguageModelActivation => (
            "repeat with a smaller token budget: the peak follows it",
            "grep -E 'max_num_batched_tokens|chunked' server.log",
            1,
            "lower --max-num-batched-tokens",
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: Some(mitigation.to_owned()) }
}
