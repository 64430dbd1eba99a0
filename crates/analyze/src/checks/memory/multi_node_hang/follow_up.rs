//! What to measure next.

use super::Cause;
use firstcheck_model::finding::FollowUp;

pub(super) fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, mitigation) = match cause {
        Cause::RankGone => (
            "find why the process ended: the kernel's log, or its own last lines",
            "dmesg -T | grep -iE 'killed process|oom|xid'",
            Some("restart the deployment: the other ranks cannot go on without it"),
        ),
        Cause::HostCode => (
            "dump the named rank again after half a minute: frames that moved are slow, frames that did not are stuck",
            "py-spy dump --native --pid PID",
            Some("restart the deployment, once all ranks are dumped"),
        ),
        Cause::SlowNotHung => (
            "dump the named rank again after half a minute: the frames move, and the first token comes",
            "py-spy dump --native --pid PID",
            Some("wait; keep the caches of compiled code on a volume, and warm up before traffic"),
        ),
        Cause::Desync => (
            "log group, operation and size of each collective on the two ranks: the first that differ stand behind a branch \
             that depends on the rank",
            "TORCH_DISTRIBUTED_DEBUG=DETAIL TORCH_NCCL_TRACE_BUFFER_SIZE=2000",
            Some(
                "restart with the feature off that was switched on last (all-to-all backend, speculation, expert parallel)",
            ),
        ),
        Cause::Transport => (
            "run the same collective of the same size over the same interfaces, outside of the engine",
            "NCCL_DEBUG=INFO all_reduce_perf -b 8 -e 256M -f 2 -g 1 (under mpirun, one rank a GPU)",
            Some("name the interface (NCCL_SOCKET_IFNAME, NCCL_IB_HCA), or go around the path (NCCL_P2P_DISABLE=1)"),
        ),
        Cause::ControlPlane => (
            "dump the leader and a worker again after half a minute: a queue whose reader starves stays where it is",
            "py-spy dump --pid PID (of the engine's core, and of one worker)",
            Some("restart; keep a request every ten seconds in flight, since it comes after idle time"),
        ),
        Cause::NoSource => (
            "log rank, source and group of the call on all ranks: ranks of the group were taken for ranks of the job",
            "py-spy dump --locals --pid PID, for each rank",
            None,
        ),
    };
    FollowUp {
        measure: measure.into(),
        command: command.into(),
        requests: 0,
        mitigation: mitigation.map(str::to_owned),
    }
}
