//! `--inject`, from the option to what the guest sees.

use crate::guest::go;

/// What the loading guest prints: a dot for each load that found zero, M when a machine check came.
fn loads(order: &[&str]) -> String {
    let options: Vec<&str> = order.iter().flat_map(|order| ["--inject", order]).collect();
    let run = go("m", &options).ends_with(3);
    run.stdout.lines().next().expect("the guest says something").to_owned()
}

#[test]
fn guest_without_faults_sees_none() {
    assert_eq!(loads(&[]), "........");
}

#[test]
fn bus_errors_strike_where_and_when_they_are_ordered() {
    assert_eq!(loads(&["bus-error@0x200000"]), "M");
    assert_eq!(loads(&["bus-error@0x1FF000,0x1001"]), "M");
    assert_eq!(loads(&["bus-error@0x200000,4,nth=3"]), "..M");
    assert_eq!(loads(&["bus-error@0x200000,write"]), "........");
    assert_eq!(loads(&["bus-error@0x200004,4"]), "........");
    assert_eq!(loads(&["poison@0x200ABC"]), "M");
}

#[test]
fn later_faults_wait_for_their_clock() {
    // The first load comes after some 400 clocks, the last before 900.
    let late = loads(&["poison@0x200000,cycle=600"]);
    assert!(late.ends_with('M') && late.len() > 1, "{late}");
    assert_eq!(loads(&["poison@0x200000,cycle=100000000"]), "........");
}

#[test]
fn flipped_bit_is_read() {
    assert_eq!(loads(&["bit-flip@0x200003.7,cycle=0"]), "!!!!!!!!");
    let late = loads(&["bit-flip@0x200003.7,cycle=600"]);
    assert!(late.starts_with('.') && late.ends_with('!'), "{late}");
}

#[test]
fn garbage_comes_in_on_the_console() {
    let run = go("e", &["--inject", "garbage@cycle=100000,count=20"]);
    assert!(run.stdout.len() > 10, "{:?}", run.stdout);
    let again = go("e", &["--inject", "garbage@cycle=100000,count=20"]);
    assert_eq!(run.stdout, again.stdout);
}
