//! Latencies, counted by magnitude with 64 steps each, so that percentiles are right to 1.6 percent in little memory
//! (fio's `stat.h` has the same resolution).
#![forbid(unsafe_code)]

use alloc::vec;
use alloc::vec::Vec;

/// Steps of a magnitude, as a power of two.
const STEP_BITS: u32 = 6;
const STEPS: usize = 1 << STEP_BITS;

/// Percentiles that are reported, in hundredths of a percent: fio's.
pub const PERCENTILES: [u32; 17] = [
    100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9500, 9900, 9950, 9990, 9995, 9999,
];

/// Counted latencies, in any unit.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u32>,
    total: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; (65 - STEP_BITS as usize) * STEPS],
            total: 0,
            sum: 0,
            least: u64::MAX,
            most: 0,
        }
    }
}

fn bucket(value: u64) -> usize {
    let magnitude = (u64::BITS - value.leading_zeros()).saturating_sub(STEP_BITS);
    if magnitude == 0 {
        return value as usize;
    }
    let shift = magnitude - 1;
    magnitude as usize * STEPS + (value >> shift) as usize - STEPS
}

/// The largest value of a bucket.
fn ceiling(bucket: usize) -> u64 {
    let (magnitude, step) = (bucket / STEPS, (bucket % STEPS) as u64);
    if magnitude == 0 {
        return step;
    }
    let shift = magnitude as u32 - 1;
    ((step + STEPS as u64) << shift) + ((1 << shift) - 1)
}

impl Histogram {
    /// Counts one.
    pub fn add(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// How many were counted, by adding up the buckets.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    /// The smallest, 0 of none.
    pub fn least(&self) -> u64 {
        if self.total == 0 { 0 } else { self.least }
    }

    /// The largest.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Thousandths of the average, 0 of none.
    pub fn mean_thousandths(&self) -> u128 {
        (self.sum * 1000).checked_div(self.total.into()).unwrap_or(0)
    }

    /// The value that `hundredths` of a percent of all do not exceed, between the smallest and the largest.
    pub fn percentile(&self, hundredths: u32) -> u64 {
        let wanted = (u128::from(self.total) * u128::from(hundredths)).div_ceil(10_000) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted.max(1) {
                return ceiling(bucket).clamp(self.least(), self.most);
            }
        }
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_no_wider_than_a_sixty_fourth_of_it() {
        let values =
            (0..4096).chain((0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1, u64::MAX >> bit]));
        let mut last = Histogram::default().counts.len();
        for value in values {
            let bucket = bucket(value);
            last = last.max(bucket + 1);
            let top = ceiling(bucket);
            assert!(value <= top && top - value <= value >> STEP_BITS, "{value} up to {top}");
            assert!(bucket == 0 || ceiling(bucket - 1) < value, "{value}");
        }
        assert_eq!(
            last,
            Histogram::default().counts.len(),
            "no bucket is out of reach or missing"
        );
    }

    #[test]
    fn percentiles_of_a_thousand_values_are_theirs() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.add(value));
        assert_eq!(
            (histogram.least(), histogram.most(), histogram.total()),
            (1, 1000, 1000)
        );
        assert_eq!(histogram.mean_thousandths(), 500_500);
        for hundredths in PERCENTILES {
            let exact = u64::from(hundredths).div_ceil(10);
            let found = histogram.percentile(hundredths);
            assert!(
                found >= exact && found <= exact + exact / 64 + 1,
                "{hundredths}: {found}"
            );
        }
    }

    #[test]
    fn nothing_counted_is_all_zeros() {
        let histogram = Histogram::default();
        assert_eq!(
            (histogram.least(), histogram.most(), histogram.percentile(5000)),
            (0, 0, 0)
        );
        assert_eq!(histogram.mean_thousandths(), 0);
    }
}
