//! Step times against measured kernel sums.

use crate::real::artefact;
use firstcheck_model::hardware::Gpu;
use firstcheck_sim::{ExpertParallel, Preset, Roofline, Shape, StepShape, Timing};

fn decode(sequences: u32, context: u32) -> StepShape {
    let mut shape = StepShape::default();
    for _ in 0..sequences {
        shape.add(context - 1, 1, true);
    }
    shape
}

fn prefill(tokens: u32) -> StepShape {
    let mut shape = StepShape::default();
    shape.add(0, tokens, true);
    shape
}

/// Milliseconds measured, with the shape, and the tolerance of the preset's fit.
fn check(preset: Preset, tolerance: f64, points: &[(StepShape, f64)]) {
    for (shape, measured) in points {
        let modelled = Timing::Preset(preset).gpu_seconds(shape) * 1e3;
        let error = modelled / measured - 1.0;
        assert!(error.abs() <= tolerance, "{preset:?} {shape:?}: {modelled:.2} ms against {measured} ms");
    }
}

#[test]
fn h100_8b() {
    let decodes = [
        (decode(1, 1024), 6.26),
        (decode(8, 1024), 6.61),
        (decode(8, 4096), 7.87),
        (decode(32, 1024), 7.89),
        (decode(32, 4096), 12.0),
        (decode(64, 1024), 10.1),
        (decode(64, 4096), 18.4),
        (decode(128, 1024), 13.2),
    ];
    check(Preset::H100Llama8bTp1, 0.06, &decodes);
    let prefills = [(prefill(512), 12.6), (prefill(2048), 43.1), (prefill(8192), 202.0)];
    check(Preset::H100Llama8bTp1, 0.11, &prefills);
}

#[test]
fn h100_70b() {
    let four = [
        (decode(1, 1024), 20.2),
        (decode(32, 1024), 22.1),
        (decode(64, 4096), 29.0),
        (decode(256, 1024), 32.8),
        (prefill(2048), 127.0),
        (prefill(8192), 553.0),
    ];
    check(Preset::H100Llama70bTp4, 0.06, &four);
    let eight = [(decode(64, 4096), 17.9), (decode(256, 1024), 22.7), (prefill(4096), 162.0)];
    check(Preset::H100Llama70bTp8, 0.12, &eight);
}

#[test]
fn a100() {
    let small = [
        (decode(1, 1024), 11.7),
        (decode(32, 1024), 15.2),
        (decode(64, 4096), 33.1),
        (decode(128, 1024), 24.4),
        (prefill(1024), 64.0),
        (prefill(8192), 580.0),
    ];
    check(Preset::A100Llama8bTp1, 0.13, &small);
    check(Preset::A100Llama70bTp4, 0.13, &[(decode(1, 1024), 29.1), (decode(64, 1024), 37.6), (prefill(4096), 646.0)]);
    check(Preset::A100Llama70bTp8, 0.13, &[(decode(1, 1024), 19.0), (decode(64, 1024), 22.9), (prefill(4096), 412.0)]);
}

#[test]
fn a_chunk_s_attention_grows_with_what_precedes_it() {
    let mut whole = StepShape::default();
    whole.add(0, 4096, true);
    let (mut first, mut second) = (StepShape::default(), StepShape::default());
    first.add(0, 2048, false);
    second.add(2048, 2048, true);
    assert_eq!(first.prefill_pairs + second.prefill_pairs, whole.prefill_pairs);
    assert!(second.prefill_pairs > 2.9 * first.prefill_pairs);
}

/// Mean absolute error over a whole calibration grid, against the error that the fit stated, and half a point.
#[test]
fn presets_reproduce_their_fit_over_the_whole_grid() {
    for (preset, file, stated) in [
        (Preset::H100Llama8bTp1, "calib_h100_sxm_llama3-8b_tp1.csv", 0.025),
        (Preset::H100Llama70bTp4, "calib_h100_sxm_llama3-70b_tp4.csv", 0.021),
        (Preset::H100Llama70bTp8, "calib_h100_sxm_llama3-70b_tp8.csv", 0.040),
        (Preset::A100Llama8bTp1, "calib_a100_sxm_llama3-8b_tp1.csv", 0.030),
        (Preset::A100Llama70bTp4, "calib_a100_sxm_llama3-70b_tp4_fixedAR.csv", 0.032),
        (Preset::A100Llama70bTp8, "calib_a100_sxm_llama3-70b_tp8_fixedAR.csv", 0.034),
    ] {
        let Some(text) = artefact(format!("simulation/{file}")) else { return };
        let errors: Vec<f64> = text.lines().skip(1).map(|line| grid_error(preset, line)).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean <= stated + 0.005, "{preset:?}: {mean:.4} against {stated}");
    }
}

fn grid_error(preset: Preset, line: &str) -> f64 {
    let cells: Vec<&str> = line.split(',').collect();
    let number = |index: usize| cells[index].parse::<f64>().unwrap();
    let (prompt, sequences, context) = (number(1) as u32, number(2) as u32, number(3) as u32);
    let mut shape = decode(sequences, context.max(1));
    if prompt > 0 {
        shape.add(0, prompt, true);
    }
    (Timing::Preset(preset).gpu_seconds(&shape) * 1e3 / number(4) - 1.0).abs()
}

#[test]
fn a_token_uses_a_tenth_of_a_model_with_experts() {
    let geometry = Shape::Qwen30bA3b.geometry();
    let (all, active) = (geometry.layer_parameters(), geometry.active_layer_parameters());
    assert!((all / 29.9e9 - 1.0).abs() < 0.01 && (active / 2.73e9 - 1.0).abs() < 0.01, "{all} {active}");
    let experts = geometry.experts.unwrap();
    assert!((experts.touched(1.0) - 8.0).abs() < 1e-9);
    assert!(experts.touched(64.0) > 120.0 && experts.touched(1e6) <= 128.0);
}

#[test]
fn a_step_reads_the_experts_that_it_touches() {
    let alone = Roofline::from_datasheet(&Gpu::RTX_PRO_6000_SERVER, Shape::Qwen30bA3b);
    let reading = |roofline: Roofline, sequences: u32| {
        let fixed = 48.0 * roofline.per_layer;
        (Timing::Roofline(roofline).gpu_seconds(&decode(sequences, 1)) - fixed) * roofline.bandwidth
    };
    // One token: attention, router, head and 8 of 128 experts, 2 bytes each.
    let one = 2.0 * (0.906e9 + 12.6e6 + 0.311e9 + 8.0 * 0.2265e9);
    assert!((reading(alone, 1) / one - 1.0).abs() < 0.03, "{} {one}", reading(alone, 1));
    assert!(reading(alone, 64) > 8.0 * reading(alone, 1));
    // Two ranks that share the experts read half of them each, for the tokens of both.
    let spread = Roofline { expert_parallel: Some(ExpertParallel { ranks: 2, exchange: 1e15 }), ..alone };
    let ratio = reading(spread, 128) / reading(alone, 128);
    assert!((0.5..0.6).contains(&ratio), "{ratio}");
}
