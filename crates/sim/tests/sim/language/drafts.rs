//! What verification leaves behind: the first wrong token stands right behind the kind of step that is flawed.

use super::{begin, healthy, prompt, with};
use firstcheck_sim::{
    config::sampler::{Flaw, Sampler, Verification},
    language::{
        Language,
        batch::{BatchView, Step},
        draw::Generator,
        sampling::Sampling,
        speculation::SpecOutcome,
    },
};

const NONE: (u32, u32) = (0, 0);
const REJECTED: (u32, u32) = (3, 0);
const PARTLY: (u32, u32) = (3, 2);
const FULLY: (u32, u32) = (3, 3);
const SINGLE: (u32, u32) = (1, 1);

/// The answer of a request that speculates, with the given outcomes.
fn speculate(language: &Language, outcomes: &[(u32, u32)]) -> Vec<u32> {
    let mut speech = begin(language, &prompt(1, 12), &Sampling::greedy());
    for (drafted, accepted) in outcomes.iter().copied() {
        language.verified(&mut speech, SpecOutcome { drafted, accepted });
        for _ in 0..=accepted {
            let step = Step::alone(0, &speech);
            language.speak(&mut speech, &BatchView::first(&step), &mut Generator::default());
        }
    }
    speech.tokens().to_vec()
}

/// The first place at which a flawed engine's answer differs from a sound one's.
fn first_wrong(flaw: Flaw, outcomes: &[(u32, u32)]) -> Option<usize> {
    let flawed = with(Sampler { verification: Verification { flaw, share: 1.0 }, ..Sampler::default() });
    let (sound, flawed) = (speculate(&healthy(), outcomes), speculate(&flawed, outcomes));
    (0..sound.len()).find(|place| sound[*place] != flawed[*place])
}

#[test]
fn sound_speculation_gives_the_greedy_answer() {
    let language = healthy();
    let context = language.read(&prompt(1, 12));
    let direct: Vec<u32> = (0..11).map(|position| language.token(context, position)).collect();
    assert_eq!(speculate(&language, &[REJECTED, PARTLY, FULLY, NONE, SINGLE]), direct);
}

#[test]
fn each_flaw_strikes_behind_its_own_kind_of_step() {
    for (flaw, outcomes, expected) in [
        (Flaw::KeepsRejected, vec![FULLY, NONE, SINGLE, REJECTED, NONE], Some(4 + 1 + 2 + 1)),
        (Flaw::KeepsRejected, vec![FULLY, PARTLY, NONE], Some(4 + 3)),
        (Flaw::KeepsRejected, vec![FULLY, NONE, FULLY, SINGLE], None),
        (Flaw::LosesBonus, vec![REJECTED, PARTLY, SINGLE, NONE, FULLY, NONE], Some(1 + 3 + 2 + 1 + 4)),
        (Flaw::LosesBonus, vec![REJECTED, PARTLY, SINGLE, NONE, SINGLE], None),
        (Flaw::StaleColumn, vec![FULLY, PARTLY, NONE], Some(4 + 3)),
        (Flaw::StaleColumn, vec![FULLY, PARTLY, SINGLE, NONE, NONE], None),
        (Flaw::RunsPastEnd, vec![FULLY, PARTLY, REJECTED, NONE], None),
    ] {
        assert_eq!(first_wrong(flaw, &outcomes), expected, "{flaw:?} {outcomes:?}");
    }
}

#[test]
fn a_flaw_can_be_rare() {
    let outcomes = vec![REJECTED; 300];
    let sound = speculate(&healthy(), &outcomes);
    let struck = |share| {
        let verification = Verification { flaw: Flaw::KeepsRejected, share };
        speculate(&with(Sampler { verification, ..Sampler::default() }), &outcomes) != sound
    };
    assert!(!struck(0.0) && struck(0.1));
}
