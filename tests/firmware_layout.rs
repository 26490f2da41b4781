//! What the measured loops run stays in the instruction cache, so that no figure depends on where the code lies.

mod common;

use std::fs;
use std::time::Duration;

use common::firmware::image;
use common::json::Json;
use zeronull_image::board::Board;
use zeronull_image::machine::{Machine, Simulator};
use zeronull_image::start::Start;
use zeronull_image::testing::empty_directory;

const LIMIT: Duration = Duration::from_secs(60);

/// Runs commands on a simulated MPC885, whose instruction cache is the smaller one; returns console and exact profile.
fn run(test: &str, commands: &[&str]) -> (String, Json) {
    let profile = empty_directory(test).join("profile.json");
    let simulator = Simulator {
        board: "cmpc885".into(),
        options: vec![format!("--profile={}", profile.display())],
    };
    let session = simulator.start(&image(Board::Mcr3000), &Start::commands(commands));
    let transcript = session.and_then(|session| session.finish(LIMIT));
    let transcript = transcript.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(transcript.status, 0, "{}", transcript.console);
    let text = fs::read_to_string(&profile).expect("the profile was written");
    (transcript.console, Json::parse(&text))
}

/// Misses of the instruction cache in a run of so many pairs of read and write.
fn misses(preset: &str, pairs: u32) -> u64 {
    let commands = [
        &format!("preset {preset}"),
        &*format!("dd if=/dev/zero of=/dev/null count={pairs}"),
    ];
    let (_, profile) = run("layout", &commands);
    let functions = profile.field("functions").elements();
    functions
        .iter()
        .map(|function| function.field("icache_misses").count())
        .sum()
}

/// The name in a line of the list of presets; the line below it gives the axes.
fn preset_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("* ").or(line.strip_prefix("  "))?.split(' ').next()?;
    (!name.is_empty()).then_some(name)
}

#[test]
fn pair_of_calls_meets_no_miss_of_the_instruction_cache_under_any_preset() {
    let (console, _) = run("layout_presets", &["preset"]);
    let presets: Vec<&str> = console.lines().filter_map(preset_name).collect();
    assert!(presets.len() > 10, "{console}");
    for preset in presets {
        let more = misses(preset, 6000).saturating_sub(misses(preset, 1000));
        // The tick of the clock costs some; one conflict costs one a pair.
        assert!(more < 500, "{preset}: {more} misses in 5000 pairs");
    }
}
