//! S19: several ranks hang on a request, and none reports an error.

mod causes;
mod follow_up;
mod seen;

use crate::{case::Case, declare_check, measure::rank_places::RankPlaces, verdict::Verdict};
use firstcheck_model::{finding::Outcome, measurement::Missing};

declare_check! {
    /// ## What it means
    ///
    /// Requests are taken and nothing comes back: no token, no error. Ranks wait for each other in collectives, and one of
    /// them, or the network, does not do its part. After ten minutes the watchdog ends the job, with a traceback of the
    /// ranks that waited, which are rarely the ones that are to blame.
    ///
    /// ## How it is decided
    ///
    /// The symptom: from the first request, or from some token to the end, requests were in flight for {still} or
    /// longer and not one token came; at the start also more than {unusual} times a later first token. Meanwhile the
    /// servers' token counters stand still too, or ranks were dumped: an engine that works for others, or loads from a second
    /// KV tier (S05), does not hang. Where
    /// dumps show ranks apart, {seen} are enough. A watchdog's line proves it, and so do dumps of ranks apart where
    /// no request is known. The causes are read from where each rank stood at one time, first match:
    ///
    /// - A rank outside of the collective that others wait in: its frames name the cause. A compiler: only slow. A queue:
    ///   the message never came. Anything else: host code.
    /// - All inside, with other numbers, operations or sizes in one group: desync; the lowest number is behind.
    /// - All inside the same one, and every rank was seen: the network between them, from one rank's watchdog never.
    ///   Number {early} or lower never worked: interface. Higher: this size, or this path.
    /// - All wait for a message: the control plane, where the leader's stack waits as well.
    ///
    /// A broadcast that all ranks entered can lack its source: nothing here records who sends, so that stays open. Of
    /// ranks that left no dump nothing is concluded.
    ///
    /// ## What to do
    ///
    /// Do not restart before each rank is dumped, at one time: `py-spy dump` and flight records. Host code: read the
    /// named frames; if a second dump half a minute later has moved, wait. Network: `all_reduce_perf` of the same size
    /// over the same interfaces.
    ///
    /// Looks like: a replica that is slow but moves; a stall of structured output.
    pub static MULTI_NODE_HANG = {
        code: "S19", slug: "multi-node-hang", family: Memory, severity: Critical,
        symptom: "several ranks hang on a request, and none reports an error",
        needs: any_of[Requests, Stacks, FlightRecords, EngineLog],
        params: {
            still: 10.0 ["s"] = "time without any token, with requests in flight, from which nothing moves",
            seen: 2.0 ["s"] = "the same where dumps show ranks apart",
            unusual: 10.0 ["1"] = "how many later first tokens the first one must take",
            early: 2.0 ["1"] = "number of a collective up to which its group never worked",
        },
        causes: {
            RankGone: "rank-gone" = "the process of a rank is gone",
            HostCode: "host-code" = "a rank is in host code, outside of the collective that the others wait in",
            SlowNotHung: "slow-not-hung" = "a rank builds code for its first request: slow, not stuck",
            Desync: "desync" = "ranks wait in different collectives of one group",
            Transport: "transport" = "all ranks are in the same collective and no data moves between them",
            ControlPlane: "control-plane" = "ranks wait for a message that their leader believes to have sent",
            NoSource: "no-source" = "all ranks receive and none sends",
        },
        // An engine that waits for its second tier tells nothing meanwhile, not even what it loads.
        unexplained_under: ["S05"],
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let (mut facts, ended) = match seen::seen(case.side, params)? {
        seen::Seen::Moves(why) => return Ok(Outcome::Absent { why }),
        seen::Seen::Stands { facts, ended } => (facts, ended),
    };
    let places = case.side.measure::<RankPlaces>();
    facts.extend(places.iter().flat_map(|places| seen::where_they_stood(places)));
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::RankGone, causes::rank_gone(case.side, places.as_deref().ok()));
    match places {
        Ok(places) => {
            verdict.weigh(Cause::HostCode, causes::host_code(&places));
            verdict.weigh(Cause::SlowNotHung, causes::slow(&places, ended));
            verdict.weigh(Cause::Desync, causes::desync(&places));
            verdict.weigh(Cause::Transport, causes::transport(&places, params));
            verdict.weigh(Cause::ControlPlane, causes::control_plane(&places));
            verdict.weigh(Cause::NoSource, causes::no_source(&places));
        }
        Err(missing) => {
            for cause in [Cause::HostCode, Cause::SlowNotHung, Cause::Desync, Cause::Transport] {
                verdict.weigh(cause, Err(missing.clone()));
            }
            verdict.weigh(Cause::ControlPlane, Err(missing.clone()));
            verdict.weigh(Cause::NoSource, Err(missing));
        }
    }
    Ok(verdict.present(facts, None, follow_up::follow_up))
}
