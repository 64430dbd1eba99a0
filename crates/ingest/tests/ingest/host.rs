//! GPU state, topology, memory of processes, pauses of the collector.

use firstcheck_ingest::host::{
    Snapshots, gc_pause, is_nvidia_smi, is_smaps_rollup, is_topology, read_nvidia_smi, read_smaps_rollup, read_topology,
};
use firstcheck_model::{moment::Moment, unit::Bytes};
use proptest::prelude::*;
use std::path::Path;

const NEW_DRIVER: &str = r#"<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <timestamp>Fri Jan  2 03:04:05 2026</timestamp>
  <driver_version>570.86.10</driver_version>
  <cuda_version>12.8</cuda_version>
  <gpu id="00000000:0A:00.0">
    <product_name>Some GPU 80GB</product_name>
    <mig_mode><current_mig>Disabled</current_mig></mig_mode>
    <pci><pci_gpu_link_info>
      <pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>4</current_link_gen></pcie_gen>
      <link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
    </pci_gpu_link_info></pci>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
      <clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
    </clocks_event_reasons>
    <fb_memory_usage><total>81559 MiB</total><reserved>551 MiB</reserved><used>70000 MiB</used></fb_memory_usage>
    <cc_protected_memory_usage><total>0 MiB</total></cc_protected_memory_usage>
    <utilization><gpu_util>97 %</gpu_util></utilization>
    <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
    <ecc_errors><volatile><dram_uncorrectable>2</dram_uncorrectable><sram_uncorrectable>1</sram_uncorrectable></volatile></ecc_errors>
    <temperature><gpu_temp>88 C</gpu_temp></temperature>
    <gpu_power_readings>
      <instant_power_draw>249.50 W</instant_power_draw>
      <current_power_limit>250.00 W</current_power_limit>
      <default_power_limit>700.00 W</default_power_limit>
    </gpu_power_readings>
    <clocks><sm_clock>1200 MHz</sm_clock><mem_clock>2619 MHz</mem_clock></clocks>
    <max_clocks><sm_clock>1980 MHz</sm_clock><mem_clock>2619 MHz</mem_clock></max_clocks>
    <processes>
      <process_info><pid>77</pid><process_name>python --api-key planted</process_name><used_memory>69000 MiB</used_memory></process_info>
      <process_info><pid>78</pid><process_name>other</process_name><used_memory>N/A</used_memory></process_info>
    </processes>
  </gpu>
</nvidia_smi_log>
"#;

const OLD_DRIVER: &str = r#"<nvidia_smi_log><gpu id="0"><product_name>Old</product_name>
<clocks_throttle_reasons><clocks_throttle_reason_gpu_idle>Active</clocks_throttle_reason_gpu_idle></clocks_throttle_reasons>
<power_readings><power_draw>23.10 W</power_draw><power_limit>300.00 W</power_limit></power_readings>
<mig_mode><current_mig>N/A</current_mig></mig_mode><processes></processes></gpu></nvidia_smi_log>"#;

#[test]
fn a_snapshot_of_a_newer_driver() {
    assert!(is_nvidia_smi(NEW_DRIVER));
    let snapshot = read_nvidia_smi(Path::new("smi.xml"), NEW_DRIVER).unwrap();
    assert_eq!((snapshot.driver.as_deref(), snapshot.cuda.as_deref()), (Some("570.86.10"), Some("12.8")));
    let gpu = &snapshot.gpus[0];
    assert_eq!(gpu.throttled_by, ["sw_power_cap", "hw_thermal_slowdown"]);
    assert_eq!(gpu.memory_total, Some(Bytes(81559.0 * 1048576.0)));
    assert_eq!((gpu.sm_clock_mhz, gpu.sm_clock_max_mhz), (Some(1200.0), Some(1980.0)));
    assert_eq!((gpu.power_watts, gpu.power_limit_watts), (Some(249.5), Some(250.0)));
    assert_eq!(gpu.power_default_limit_watts, Some(700.0));
    assert_eq!((gpu.pcie_generation, gpu.pcie_generation_max), (Some(4), Some(5)));
    assert_eq!((gpu.pcie_lanes, gpu.pcie_lanes_max), (Some(8), Some(16)));
    assert_eq!((gpu.mig, gpu.ecc, gpu.confidential_computing), (Some(false), Some(true), Some(false)));
    assert_eq!((gpu.uncorrected_errors, gpu.utilisation), (Some(3), Some(0.97)));
    assert_eq!((gpu.processes[0].pid, gpu.processes[0].memory), (77, Some(69000 << 20)));
    assert_eq!(gpu.processes[1].memory, None);
    assert!(!format!("{snapshot:?}").contains("planted"), "arguments of a process are not kept");
}

#[test]
fn a_snapshot_of_an_older_driver_states_less() {
    let gpu = &read_nvidia_smi(Path::new("smi.xml"), OLD_DRIVER).unwrap().gpus[0];
    assert_eq!((gpu.power_watts, gpu.power_limit_watts), (Some(23.1), Some(300.0)));
    assert!(gpu.throttled_by.is_empty(), "an idle GPU is not held down");
    assert_eq!((gpu.mig, gpu.memory_total, gpu.sm_clock_mhz), (None, None, None));
}

#[test]
fn damaged_xml_is_named_with_its_line() {
    let error = read_nvidia_smi(Path::new("smi.xml"), "<nvidia_smi_log>\n<gpu>\n</nvidia_smi_log>").unwrap_err();
    assert_eq!(error.line(), Some(3));
    let error = read_nvidia_smi(Path::new("smi.xml"), "<html/>").unwrap_err();
    assert!(error.to_string().contains("its root is not nvidia_smi_log"), "{error}");
    let laughs = "<!DOCTYPE n [<!ENTITY a \"&b;&b;\"><!ENTITY b \"&a;&a;\">]><nvidia_smi_log>&a;</nvidia_smi_log>";
    assert!(read_nvidia_smi(Path::new("smi.xml"), laughs).is_err());
}

#[test]
fn a_matrix_with_adapters_and_an_underlined_header() {
    let text = "\t\u{1b}[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\n\
                GPU0\t X \tNV18\tPIX\t0-31\t0\t\tN/A\n\
                GPU1\tNV18\t X \tSYS\t32-63\t1\t\tN/A\n\
                NIC0\tPIX\tSYS\t X \t\t\t\n\nLegend:\n";
    assert!(is_topology(text));
    let topology = read_topology(text).unwrap();
    assert_eq!(topology.devices, ["GPU0", "GPU1", "NIC0"]);
    assert_eq!(topology.link("GPU1", "NIC0"), Some("SYS"));
    assert_eq!(topology.numa[..2], [Some(0), Some(1)]);
    assert_eq!(read_topology("\tGPU0\tGPU1\nGPU0\t X \tPHB\n"), None, "a matrix that ends early is none");
}

const SNAPSHOTS: &str = "\
# 2026-01-02T03:04:05Z pid=12
5581-7ffd ---p 00000000 00:00 0 [rollup]
Rss:              200 kB
Anonymous:        100 kB
Swap:              10 kB
LazyFree:           0 kB
# 2026-01-02T03:05:05Z pid=12
5581-7ffd ---p 00000000 00:00 0 [rollup]
Rss:              300 kB
Anonymous:        150 kB
Swap:              50 kB
what is this
";

#[test]
fn snapshots_of_memory_become_series() {
    assert!(is_smaps_rollup(SNAPSHOTS));
    let Snapshots { series, dated, started_unix_ns, unread } = read_smaps_rollup(Path::new("smaps.txt"), SNAPSHOTS);
    assert!(dated);
    assert_eq!(started_unix_ns, Some(1_767_323_045_000_000_000));
    let anonymous = series.iter().find(|series| series.name == "smaps_rollup:Anonymous").unwrap();
    assert_eq!(anonymous.value, [102_400.0, 153_600.0]);
    assert_eq!(anonymous.at, [Moment::at(0), Moment::at(60_000_000_000)]);
    assert_eq!(anonymous.labels.get("pid"), Some("12"));
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].line, Some(12));
}

#[test]
fn snapshots_without_times_have_an_order_only() {
    let lines = SNAPSHOTS.lines().filter(|line| !line.starts_with('#'));
    let read = read_smaps_rollup(Path::new("smaps.txt"), &lines.collect::<Vec<_>>().join("\n"));
    assert!(!read.dated);
    assert_eq!(read.series[0].value.len(), 2);
}

#[test]
fn pauses_of_the_collector() {
    for (line, generation, seconds, objects) in [
        (
            "INFO 01-02 03:04:05 [gc_utils.py:78] GC took 41.250ms to complete. Collected 7 objects (out of 900) in GC \
          generation 2.",
            Some(2),
            0.04125,
            Some(900),
        ),
        ("gc: done, 1 unreachable, 0 uncollectable, 1.5000s elapsed", None, 1.5, None),
    ] {
        let pause = gc_pause(line).unwrap();
        assert_eq!((pause.generation, pause.objects), (generation, objects), "{line}");
        assert!((pause.length.0 - seconds).abs() < 1e-9, "{line}");
    }
    for line in ["", "gc: collecting generation 2...", "GC took long", "LONG GARBAGE COLLECTION DETECTED"] {
        assert_eq!(gc_pause(line), None, "{line}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(text in "(<gpu|</?nvidia_smi_log>|GPU[01]|\t|\n| X |Rss: +[0-9]{0,25} kB|\\[rollup\\]|gc: done, |s elapsed|[-0-9.e]){0,50}") {
        let _: Result<_, _> = read_nvidia_smi(Path::new("x"), &text);
        read_topology(&text);
        read_smaps_rollup(Path::new("x"), &text);
        gc_pause(&text);
    }
}

#[test]
fn objects_of_any_number_do_not_panic() {
    let line = "LONG GARBAGE COLLECTION DETECTED | Generation 2 | Duration: 0.5s | # Objects: gen0=18446744073709551615, \
                gen1=1, gen2=1 |";
    let pause = firstcheck_ingest::host::gc_pause(line).unwrap();
    assert_eq!((pause.length.0, pause.objects), (0.5, None));
}

#[test]
fn a_driver_that_states_any_number_or_nests_without_end_does_not_panic() {
    let most = u64::MAX;
    let text = format!(
        "<nvidia_smi_log><gpu id=\"0\"><ecc_errors><volatile><a_uncorrectable>{most}</a_uncorrectable>\
         <b_uncorrectable>7</b_uncorrectable></volatile></ecc_errors></gpu></nvidia_smi_log>"
    );
    let snapshot = read_nvidia_smi(Path::new("a.xml"), &text).unwrap();
    assert_eq!(snapshot.gpus[0].uncorrected_errors, Some(most));
    let nested = format!("<nvidia_smi_log>{}", "<a>".repeat(300_000));
    assert!(read_nvidia_smi(Path::new("a.xml"), &nested).is_err());
    let nested = format!("<nvidia_smi_log>{}{}</nvidia_smi_log>", "<a>".repeat(300_000), "</a>".repeat(300_000));
    assert!(read_nvidia_smi(Path::new("a.xml"), &nested).is_ok());
}
