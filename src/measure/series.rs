//! Figures of presets side by side: what a run came to, the table, and which axes lie between two presets.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::fmt;

/// What the clocks of the machine say.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Clocks of the core in a second.
    pub core_hz: u32,
    /// Ticks of the time base in a second.
    pub timebase_hz: u32,
}

/// Tenths of a unit, printed with one decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenths(pub i64);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        f.pad(&alloc::format!("{sign}{}.{}", magnitude / 10, magnitude % 10))
    }
}

/// A difference in tenths of a percent, always with its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change(pub Tenths);

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0.0 >= 0 { "+" } else { "" };
        f.pad(&alloc::format!("{sign}{}%", self.0))
    }
}

/// `part` in tenths of a percent of `whole`, rounded; 0 of nothing.
pub fn percent(part: i64, whole: i64) -> Tenths {
    if whole == 0 {
        return Tenths(0);
    }
    let (part, whole) = (i128::from(part) * 1000, i128::from(whole));
    let half = if (part < 0) == (whole < 0) {
        whole / 2
    } else {
        -whole / 2
    };
    Tenths(((part + half) / whole) as i64)
}

/// The runs of one preset: time base ticks of `operations` operations, one entry a round.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Ticks of each round.
    pub ticks: Vec<u64>,
    /// Operations of a round.
    pub operations: u32,
    /// Bytes that an operation moves.
    pub bytes: u32,
}

impl Runs {
    fn sum(&self) -> u64 {
        self.ticks.iter().sum()
    }

    fn total_operations(&self) -> u64 {
        self.ticks.len() as u64 * u64::from(self.operations)
    }

    /// Clocks of the core that an operation takes, on average over the rounds.
    pub fn cycles(&self, clocks: Clocks) -> Tenths {
        let cycles = u128::from(self.sum()) * u128::from(clocks.core_hz) * 10;
        let divisor = u128::from(clocks.timebase_hz) * u128::from(self.total_operations());
        Tenths(((cycles + divisor / 2) / divisor.max(1)) as i64)
    }

    /// Units of 1048576 bytes a second.
    pub fn rate(&self, clocks: Clocks) -> Tenths {
        let bytes = u128::from(self.total_operations()) * u128::from(self.bytes) * 10;
        let divisor = u128::from(self.sum()) << 20;
        Tenths((bytes * u128::from(clocks.timebase_hz) / divisor.max(1)) as i64)
    }

    /// How far the slowest round is from the fastest.
    pub fn spread(&self) -> Tenths {
        let (least, most) = (self.ticks.iter().min(), self.ticks.iter().max());
        match (least, most) {
            (Some(least), Some(most)) => percent((most - least) as i64, *least as i64),
            _ => Tenths(0),
        }
    }

    /// How much more an operation a second this is than `base`.
    pub fn change(&self, base: &Self) -> Change {
        let (own, other) = (self.sum() as i64, base.sum() as i64);
        Change(percent(other - own, own))
    }
}

/// A way from `from` to `to` through `presets`, each step of which gives one more axis, or as few as can be, the value that
/// it has in `to`. Gives the indices, both ends included.
pub fn chain<const N: usize>(presets: &[[&str; N]], from: usize, to: usize) -> Vec<usize> {
    let (start, end) = (presets[from], presets[to]);
    // Axes that have gone over, as bits; None for a preset with a value of neither.
    let gone = |values: &[&str; N]| -> Option<u32> {
        let mut bits = 0;
        for axis in 0..N {
            if values[axis] == end[axis] && start[axis] != end[axis] {
                bits |= 1 << axis;
            } else if values[axis] != start[axis] {
                return None;
            }
        }
        Some(bits)
    };
    let mut places: Vec<(u32, usize)> = Vec::new();
    for (index, values) in presets.iter().enumerate() {
        let Some(bits) = gone(values) else { continue };
        let index = if bits == 0 { from } else { index };
        if !places.iter().any(|(known, _)| *known == bits) {
            places.push((bits, index));
        }
    }
    if let Some(last) = places.iter_mut().find(|(bits, _)| Some(*bits) == gone(&end)) {
        last.1 = to;
    }
    // Few axes first: whatever leads to a place comes before it.
    places.sort_by_key(|(bits, _)| bits.count_ones());
    let mut best: Vec<(usize, Option<usize>)> = Vec::new();
    for (at, (bits, _)) in places.iter().enumerate() {
        let before = (0..at).filter(|&i| places[i].0 & !bits == 0 && places[i].0 != *bits && (best[i].0 > 0));
        let through = before.max_by_key(|&i| (best[i].0, core::cmp::Reverse(i)));
        let length = match through {
            Some(i) => best[i].0 + 1,
            None => usize::from(*bits == 0),
        };
        best.push((length, through));
    }
    let mut at = places.iter().position(|(_, index)| *index == to);
    let mut way = Vec::new();
    while let Some(place) = at {
        way.push(places[place].1);
        at = best[place].1;
    }
    way.reverse();
    way
}

/// A straight line `cost = base + slope * size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Cost at size 0, in tenths.
    pub base: Tenths,
    /// Cost of a unit of size, in thousandths.
    pub slope: i64,
    /// The farthest that a point is from the line, in tenths of a percent of the point's cost.
    pub off: Tenths,
}

/// The line of least squares through points of size and cost (in tenths); `None` unless there are two sizes.
pub fn fit(points: &[(u32, Tenths)]) -> Option<Fit> {
    let count = points.len() as i128;
    let wide = || {
        points
            .iter()
            .map(|(size, cost)| (i128::from(*size), i128::from(cost.0)))
    };
    let sum = |value: fn((i128, i128)) -> i128| wide().map(value).sum::<i128>();
    let (sizes, costs) = (sum(|(x, _)| x), sum(|(_, y)| y));
    let determinant = count * sum(|(x, _)| x * x) - sizes * sizes;
    if determinant == 0 {
        return None;
    }
    let product = count * sum(|(x, y)| x * y) - sizes * costs;
    let base = (costs * determinant - product * sizes) / (count * determinant);
    let off = |(x, y): (i128, i128)| {
        let line = base + product * x / determinant;
        percent((line - y) as i64, y as i64).0.abs()
    };
    Some(Fit {
        base: Tenths(base as i64),
        slope: (product * 100 / determinant) as i64,
        off: Tenths(wide().map(off).max().unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::vec;

    const CLOCKS: Clocks = Clocks {
        core_hz: 132_000_000,
        timebase_hz: 8_250_000,
    };

    fn runs(ticks: &[u64]) -> Runs {
        Runs {
            ticks: ticks.to_vec(),
            operations: 1000,
            bytes: 512,
        }
    }

    #[test]
    fn ticks_become_cycles_rates_and_changes() {
        let (slow, fast) = (runs(&[62_500, 62_500]), runs(&[50_000, 50_500]));
        assert_eq!(slow.cycles(CLOCKS), Tenths(10_000));
        assert_eq!(fast.cycles(CLOCKS), Tenths(8040));
        // 512000 bytes in 7.576 ms.
        assert_eq!(slow.rate(CLOCKS), Tenths(644));
        assert_eq!((slow.spread(), fast.spread()), (Tenths(0), Tenths(10)));
        assert_eq!(format!("{}", fast.change(&slow)), "+24.4%");
        assert_eq!(format!("{:>7}", slow.change(&fast)), " -19.6%");
        assert_eq!(format!("{:>6}|{}", Tenths(-5), Tenths(123)), "  -0.5|12.3");
    }

    // The figures of the mails: 99.9 MB/s through read_iter, 113.5 with a plain read.
    #[test]
    fn change_is_that_of_the_throughput() {
        let (iter, plain) = (runs(&[1135]), runs(&[999]));
        assert_eq!(plain.change(&iter), Change(Tenths(136)));
    }

    #[test]
    fn way_between_presets_changes_one_axis_after_the_other() {
        let presets = [
            ["a", "x", "1"],
            ["b", "y", "1"],
            ["a", "y", "1"],
            ["b", "y", "2"],
            ["c", "y", "1"],
            ["a", "x", "1"],
        ];
        assert_eq!(chain(&presets, 0, 3), [0, 2, 1, 3]);
        assert_eq!(chain(&presets, 5, 2), [5, 2]);
        assert_eq!(chain(&presets, 3, 0), [3, 1, 2, 0]);
        // No preset between: two axes go over in one step.
        assert_eq!(chain(&[["a", "x"], ["b", "y"]], 0, 1), [0, 1]);
        assert_eq!(chain(&presets, 4, 4), [4]);
        assert_eq!(chain(&presets, 0, 5), [5]);
    }

    #[test]
    fn line_is_found_and_what_leaves_it_is_seen() {
        let points: vec::Vec<(u32, Tenths)> = [1, 16, 256, 4096]
            .map(|x| (x, Tenths(i64::from(2000 + 3 * x))))
            .to_vec();
        let expected = Fit {
            base: Tenths(2000),
            slope: 300,
            off: Tenths(0),
        };
        assert_eq!(fit(&points), Some(expected));
        let bent = [(0, Tenths(100)), (10, Tenths(200)), (20, Tenths(400))];
        let found = fit(&bent).expect("three sizes");
        assert_eq!((found.slope, found.base), (1500, Tenths(83)));
        assert!(found.off.0 > 100);
        assert_eq!(fit(&[(5, Tenths(1)), (5, Tenths(3))]), None);
    }
}
