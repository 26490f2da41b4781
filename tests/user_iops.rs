//! `iops` under QEMU's user-mode emulation, where it reads an ordinary file.

mod common;

use std::fs;

use common::run;
use zeronull_image::testing::empty_directory;

/// The digits behind `"name":`.
fn field(json: &str, name: &str) -> u64 {
    let at = json.find(&format!("\"{name}\":")).expect(json) + name.len() + 3;
    let digits = json[at..].split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).expect(json)
}

// U-205
#[test]
fn figures_of_a_file_hang_together_under_linux() {
    let file = empty_directory("iops").join("file");
    fs::write(&file, vec![7; 1 << 20]).expect("the file can be written");
    let name = format!("--filename={}", file.display());
    for order in ["read", "randread"] {
        let operands = [
            &name,
            &format!("--rw={order}"),
            "--bs=4k",
            "--number_ios=2000",
            "--json",
        ];
        let run = run("iops", &operands).succeeded();
        let json = run.text();
        assert_eq!(
            (field(json, "total_ios"), field(json, "io_bytes")),
            (2000, 2000 * 4096),
            "{json}"
        );
        assert_eq!((field(json, "N"), field(json, "short_ios")), (2000, 0), "{json}");
        let (iops, bandwidth) = (field(json, "iops"), field(json, "bw_bytes"));
        assert!(
            (iops * 4096).abs_diff(bandwidth) * 200 <= bandwidth + 200 * 4096,
            "{json}"
        );
        assert!(
            field(json, "min") <= field(json, "mean") && field(json, "mean") <= field(json, "max"),
            "{json}"
        );
    }
}

// U-206
#[test]
fn size_that_the_file_does_not_have_is_refused_under_linux() {
    let file = empty_directory("iops_size").join("file");
    fs::write(&file, [0; 1000]).expect("the file can be written");
    let name = format!("--filename={}", file.display());
    let refused = run("iops", &[&name, "--size=1001"]);
    assert_eq!(refused.status(), 1, "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("--size=1001 from 0 on is more than the 1000 bytes"),
        "{refused:?}"
    );
}
