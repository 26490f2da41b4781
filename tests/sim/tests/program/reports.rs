//! Profile, stacks, trace.

use crate::guest::{directory, elf, go, run, simulate};

/// The number after `"name":` in the row of `function`.
fn figure(json: &str, function: &str, name: &str) -> u64 {
    let key = format!("\"function\":\"{function}\"");
    let row = json
        .lines()
        .find(|line| line.contains(&key))
        .unwrap_or_else(|| panic!("no {function} in {json}"));
    let value = row
        .split(&format!("\"{name}\":"))
        .nth(1)
        .and_then(|rest| rest.split([',', '}']).next());
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {row}"))
}

#[test]
fn profile_counts_each_function_exactly() {
    let path = directory("profile").join("profile.json");
    let option = format!("--profile={}", path.display());
    go("p", &[&option]).ends_with(3);
    let json = std::fs::read_to_string(&path).expect("the profile was written");
    // li, ten times three, five for the counter, blr.
    assert_eq!(figure(&json, "inner", "instructions"), 1000 * (1 + 30 + 5 + 1));
    assert_eq!(figure(&json, "outer", "instructions"), 4 + 1000 * 4 + 4);
    let cycles = figure(&json, "inner", "cycles");
    assert!((40_000..100_000).contains(&cycles), "{cycles}");
    // The code of inner lies in four lines at most, and nothing throws them out.
    assert!((1..=4).contains(&figure(&json, "inner", "icache_misses")), "{json}");
}

#[test]
fn profile_between_two_places_has_nothing_from_outside() {
    let path = directory("profile_between").join("profile.json");
    let option = format!("--profile={}", path.display());
    let interval = [
        "--profile-from",
        "inner",
        "--profile-to",
        "verdict",
        "--profile-addresses",
    ];
    go("p", &[&[option.as_str()], &interval[..]].concat()).ends_with(3);
    let json = std::fs::read_to_string(&path).expect("the profile was written");
    assert_eq!(figure(&json, "inner", "instructions"), 1000 * (1 + 30 + 5 + 1));
    // Without the five up to the first call of inner.
    assert_eq!(figure(&json, "outer", "instructions"), 1000 * 4 + 4 - 1);
    let instructions: u64 = json
        .lines()
        .filter(|line| line.contains("\"address\":"))
        .map(|line| {
            let value = line.split("\"instructions\":").nth(1).expect("each address has them");
            let digits = value.trim_end_matches([',', '}']);
            digits.parse::<u64>().expect("a number")
        })
        .sum();
    assert_eq!(instructions, 1000 * 41 + 3, "{json}");
    assert!(json.starts_with("{\"cycles\":"), "{json}");
    assert!(json.contains("\"instructions\":41003,"), "{json}");
    let run = go("p", &["--profile", "--profile-from", "no_such_place"]).ends_with(2);
    assert!(run.stderr.contains("--profile-from no_such_place"), "{}", run.stderr);
}

#[test]
fn profile_as_a_table_adds_up() {
    let run = go("p", &["--profile"]).ends_with(3);
    let column = |line: &str, index: usize| -> u64 {
        let word = line.split_whitespace().nth(index).expect("the column is there");
        word.parse().unwrap_or_else(|_| panic!("{word} in {line}"))
    };
    let total = run
        .stderr
        .lines()
        .find(|line| line.ends_with(" total"))
        .expect("a total");
    let rows = run.stderr.lines().filter(|line| line.contains(" [r] "));
    let sums = rows.fold((0, 0), |sums, line| {
        (sums.0 + column(line, 1), sums.1 + column(line, 2))
    });
    let between = run
        .stderr
        .lines()
        .find(|line| line.contains("exception entry"))
        .expect("the rest");
    assert_eq!(sums.0 + column(between, 1), column(total, 1), "{}", run.stderr);
    assert_eq!(sums.1, column(total, 2), "{}", run.stderr);
}

#[test]
fn stacks_show_who_called_and_where_time_went() {
    let path = directory("stacks").join("folded");
    go("p", &["--folded", path.to_str().expect("the path is UTF-8")]).ends_with(3);
    let folded = std::fs::read_to_string(&path).expect("the stacks were written");
    let clocks: u64 = folded
        .lines()
        .filter(|line| line.contains("outer_[k];inner_[k] "))
        .map(|line| {
            line.rsplit(' ')
                .next()
                .and_then(|clocks| clocks.parse().ok())
                .unwrap_or(0u64)
        })
        .sum();
    assert!(clocks > 30_000, "{folded}");
}

#[test]
fn symbols_come_from_a_table_too() {
    let directory = directory("symbols");
    let image = directory.join("image.elf");
    std::fs::copy(elf(), &image).expect("the guest can be copied");
    std::fs::write(directory.join("image.sym"), "00010000 4096 all of it\n").expect("the table can be written");
    let image = image.to_str().expect("the path is UTF-8");
    let run = simulate(&[image, "--start", "go", "--append", "p", "--profile"]).ends_with(3);
    assert!(run.stderr.contains("[r] all of it\n"), "{}", run.stderr);
}

#[test]
fn symbols_of_a_file_without_any_come_from_the_elf_file_beside_it() {
    let directory = directory("stripped");
    let copy = ["-O", "binary", elf(), "image.bin"];
    run("powerpc-linux-gnu-objcopy", &copy, &directory);
    std::fs::copy(elf(), directory.join("image.elf")).expect("the guest can be copied");
    let image = directory.join("image.bin");
    let image = image.to_str().expect("the path is UTF-8");
    let arguments = [
        image,
        "--load",
        "0x10000",
        "--start",
        "go",
        "--append",
        "p",
        "--profile",
    ];
    let run = simulate(&arguments).ends_with(3);
    assert!(run.stderr.contains("[r] inner\n"), "{}", run.stderr);
}

#[test]
fn trace_shows_instructions_from_an_address_on() {
    let run = go("p", &["--trace", "--trace-from", "0x10000", "--trace-count", "3"]).ends_with(3);
    let lines: Vec<Vec<&str>> = run
        .stderr
        .lines()
        .map(|line| line.split_whitespace().skip(1).collect())
        .collect();
    assert_eq!(
        lines,
        [
            ["00010000", "28030010", "cmpli"],
            ["00010004", "41800044", "bc"],
            ["00010048", "28030002", "cmpli"]
        ]
    );
    let path = directory("trace").join("trace");
    go("p", &[&format!("--trace={}", path.display())]).ends_with(3);
    let trace = std::fs::read_to_string(&path).expect("the trace was written");
    assert!(trace.lines().count() > 40_000, "{}", trace.lines().count());
    let clocks: Vec<u64> = trace
        .lines()
        .map(|line| {
            line.split_whitespace()
                .next()
                .and_then(|clock| clock.parse().ok())
                .expect("a clock")
        })
        .collect();
    assert!(clocks.is_sorted());
}
