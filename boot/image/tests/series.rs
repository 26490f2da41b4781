//! `cargo bench-protector`: what its figures must hold.

use std::collections::BTreeMap;
use std::process::Command;

use zeronull_image::testing::output;

/// Cycles by preset and stack protector.
type Figures = BTreeMap<[String; 2], f64>;

fn figures(options: &[&str]) -> Figures {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zeronull-image"));
    command.args(["bench-protector", "--json", "5.9-rc2", "patch-1", "patch-2"]);
    let text = output(command.args(options));
    text.lines()
        .map(|line| {
            let text = |name: &str| {
                let rest = line
                    .split_once(&format!("\"{name}\":"))
                    .unwrap_or_else(|| panic!("no {name} in {line}"))
                    .1;
                rest.split([',', '}'])
                    .next()
                    .expect("there is a first")
                    .trim_matches('"')
                    .to_owned()
            };
            let cycles = text("cycles").parse().expect("cycles are a number");
            ([text("preset"), text("stack_protector")], cycles)
        })
        .collect()
}

// U-220
#[test]
fn protector_costs_the_same_in_every_run_and_layout_and_patches_off_the_path_nothing() {
    let plain = figures(&[]);
    assert_eq!(plain, figures(&[]));
    assert_eq!(plain.len(), 3 * 3, "{plain:?}");
    let shuffled = figures(&["--shuffle", "7"]);
    let cycles = |figures: &Figures, preset: &str, protector: &str| figures[&[preset.into(), protector.into()]];
    for preset in ["5.9-rc2", "patch-1"] {
        let off = [&plain, &shuffled].map(|figures| cycles(figures, preset, "none"));
        assert!((off[0] / off[1] - 1.0).abs() < 0.01, "{preset}: {off:?}");
        let factors =
            [&plain, &shuffled].map(|figures| cycles(figures, preset, "strong") / cycles(figures, preset, "none"));
        assert!(
            factors.iter().all(|factor| (1.01..1.15).contains(factor)),
            "{preset}: {factors:?}"
        );
        assert!((factors[0] / factors[1] - 1.0).abs() < 0.01, "{preset}: {factors:?}");
        assert!(cycles(&plain, preset, "all") > cycles(&plain, preset, "strong"));
    }
    for protector in ["none", "strong", "all"] {
        let [first, second] = ["patch-1", "patch-2"].map(|preset| cycles(&plain, preset, protector));
        // Ticks of the clock fall elsewhere in the rounds.
        assert!((first - second).abs() < 4.0, "{protector}: {first} {second}");
    }
}
