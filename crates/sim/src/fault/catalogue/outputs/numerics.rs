//! Temperature 0 gives two answers (S31); logits at FP8 follow the batch (S32).

use super::spread;
use crate::fault::{FaultSpec, param, scene};

pub(in crate::fault) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "batch-kernels",
        symptom: "S31",
        cause: "batch-shape",
        acts_in: "matrix kernels",
        doc: "the kernel, and with it the order of sums, is chosen by the number of rows: near ties flip",
        scene: scene::PLAIN,
        params: &[spread([0.005, 0.02, 0.06], "spread of logits between kernels")],
        apply: |values, rig| {
            let sd = values.get("sd");
            rig.deployment.each_engine(|engine| engine.sampler.numerics.batch_shape = sd);
        },
    },
    FaultSpec {
        slug: "kernel-race",
        symptom: "S31",
        cause: "race",
        acts_in: "kernel",
        doc: "a kernel reads what another has not written yet: the same batch gives different logits",
        scene: scene::PLAIN,
        params: &[spread([0.01, 0.05, 0.5], "spread of logits from run to run")],
        apply: |values, rig| {
            let sd = values.get("sd");
            rig.deployment.each_engine(|engine| engine.sampler.numerics.race = sd);
        },
    },
    FaultSpec {
        slug: "hit-path-differs",
        symptom: "S31",
        cause: "different-path",
        acts_in: "prefix cache",
        doc: "a prompt found in the cache is computed by another path than one that is not",
        scene: scene::PLAIN,
        params: &[spread([0.01, 0.05, 0.3], "spread of logits between the paths")],
        apply: |values, rig| {
            let sd = values.get("sd");
            rig.deployment.each_engine(|engine| engine.sampler.numerics.prefix_hit = sd);
        },
    },
    FaultSpec {
        slug: "replica-builds-differ",
        symptom: "S31",
        cause: "different-replica",
        acts_in: "builds of the replicas",
        doc: "replicas run different builds or hardware",
        scene: scene::PLAIN,
        params: &[spread([0.005, 0.02, 0.1], "spread of logits between builds")],
        apply: |values, rig| {
            let sd = values.get("sd");
            for (replica, build) in rig.deployment.replicas.iter_mut().zip(1..) {
                (replica.engine.sampler.numerics.build_sd, replica.engine.sampler.numerics.build) = (sd, build);
            }
        },
    },
    FaultSpec {
        slug: "tensor-scale",
        symptom: "S32",
        cause: "batch-scale",
        acts_in: "activation quantisation",
        doc: "one scale for the whole batch: each row's rounding follows the loudest row",
        scene: scene::PLAIN,
        params: &[spread([0.005, 0.02, 0.06], "spread of logits a doubling of the largest activation")],
        apply: |values, rig| {
            let sd = values.get("sd");
            rig.deployment.each_engine(|engine| engine.sampler.numerics.tensor_scale = sd);
        },
    },
    FaultSpec {
        slug: "kernel-switch",
        symptom: "S32",
        cause: "kernel-by-rows",
        acts_in: "matrix kernels",
        doc: "another kernel from a number of rows on",
        scene: scene::PLAIN,
        params: &[
            spread([0.005, 0.02, 0.06], "spread of logits between the two"),
            param("rows", "requests", [8.0, 4.0, 2.0], [2.0, 1e6], "rows from which the other is chosen"),
        ],
        apply: |values, rig| {
            let (sd, rows) = (values.get("sd"), values.count("rows"));
            rig.deployment.each_engine(|engine| {
                let numerics = &mut engine.sampler.numerics;
                (numerics.kernel_switch, numerics.switch_rows) = (sd, rows);
            });
        },
    },
    FaultSpec {
        slug: "first-prompt-scale",
        symptom: "S32",
        cause: "first-batch-calibration",
        acts_in: "KV quantisation",
        doc: "the KV scale is calibrated on whatever comes first after the start",
        scene: scene::PLAIN,
        params: &[spread([0.01, 0.05, 0.2], "spread of logits between calibrations")],
        apply: |values, rig| {
            let sd = values.get("sd");
            rig.deployment.each_engine(|engine| engine.sampler.numerics.first_prompt = sd);
        },
    },
];
