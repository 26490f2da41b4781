//! What `dd` says at its end, in busybox's words.
#![forbid(unsafe_code)]

use super::operands::Status;
use crate::user::print::Seconds;
use core::fmt;

/// What has been moved so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Reads that filled a block.
    pub in_full: u64,
    /// Reads that did not.
    pub in_partial: u64,
    /// Writes of a whole block.
    pub out_full: u64,
    /// Writes of less.
    pub out_partial: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl Records {
    /// Counts `blocks` blocks of `block` bytes that went in and out whole.
    pub fn add_whole(&mut self, blocks: u64, block: usize) {
        self.in_full += blocks;
        self.out_full += blocks;
        self.bytes += blocks * block as u64;
    }
}

/// The closing lines; shown as text that ends with a line end, or is empty.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// What was moved.
    pub records: Records,
    /// Time from the opening of the files to the end; `None` where the system has no clock.
    pub elapsed_micros: Option<u64>,
    /// How much to show.
    pub status: Status,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.status == Status::None {
            return Ok(());
        }
        let Records {
            in_full,
            in_partial,
            out_full,
            out_partial,
            bytes,
        } = self.records;
        write!(
            f,
            "{in_full}+{in_partial} records in\n{out_full}+{out_partial} records out\n"
        )?;
        if self.status == Status::NoTransfer {
            return Ok(());
        }
        write!(f, "{bytes} bytes ({}B) copied", HumanReadable(bytes))?;
        if let Some(elapsed) = self.elapsed_micros {
            write!(
                f,
                ", {} seconds, {}B/s",
                Seconds { micros: elapsed },
                HumanReadable(bytes_per_second(bytes, elapsed))
            )?;
        }
        f.write_str("\n")
    }
}

/// The rate over `micros`; 0 when the clock did not move, because no finite rate would be true.
///
/// The product takes 128 bits: from 16 TiB on, bytes times a million exceed 64.
fn bytes_per_second(bytes: u64, micros: u64) -> u64 {
    let rate = (u128::from(bytes) * 1_000_000)
        .checked_div(u128::from(micros))
        .unwrap_or(0);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// A number with one decimal and a suffix of base 1024, as busybox prints it: `512`, `976.6K`, `512.0M`.
///
/// The decimal is rounded in each step on its own, so the value just below a step shows as `1024.0K`. That is busybox's
/// way.
struct HumanReadable(u64);

impl fmt::Display for HumanReadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0;
        let mut tenths = 0;
        let mut suffix = None;
        for next in "KMGTPE".chars() {
            if value < 1024 {
                break;
            }
            tenths = (value % 1024 * 10 + 512) / 1024;
            value /= 1024;
            suffix = Some(next);
        }
        if tenths == 10 {
            value += 1;
            tenths = 0;
        }
        match suffix {
            None => write!(f, "{value}"),
            Some(suffix) => write!(f, "{value}.{tenths}{suffix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn report(bytes: u64, elapsed_micros: Option<u64>, status: Status) -> std::string::String {
        let records = Records {
            in_full: bytes / 512,
            out_full: bytes / 512,
            bytes,
            ..Records::default()
        };
        Report {
            records,
            elapsed_micros,
            status,
        }
        .to_string()
    }

    // U-166: the figures of the kernel lists.
    #[test]
    fn benchmark_lines_are_those_of_the_mails() {
        assert_eq!(
            report(536_870_912, Some(5_585_880), Status::All),
            "1048576+0 records in\n1048576+0 records out\n\
             536870912 bytes (512.0MB) copied, 5.585880 seconds, 91.7MB/s\n"
        );
        assert!(report(536_870_912, Some(7_780_540), Status::All).ends_with("7.780540 seconds, 65.8MB/s\n"));
        assert!(report(536_870_912, Some(1_580_880), Status::All).ends_with("1.580880 seconds, 323.9MB/s\n"));
    }

    // U-171
    #[test]
    fn status_decides_how_much_is_shown() {
        assert_eq!(report(512, Some(1), Status::None), "");
        assert_eq!(
            report(512, Some(1), Status::NoTransfer),
            "1+0 records in\n1+0 records out\n"
        );
    }

    // U-173
    #[test]
    fn no_elapsed_time_gives_a_finite_rate() {
        assert_eq!(
            report(0, Some(0), Status::All),
            "0+0 records in\n0+0 records out\n0 bytes (0B) copied, 0.000000 seconds, 0B/s\n"
        );
        assert!(report(512, Some(0), Status::All).ends_with("512 bytes (512B) copied, 0.000000 seconds, 0B/s\n"));
        assert!(report(u64::MAX, Some(0), Status::All).ends_with(" 0.000000 seconds, 0B/s\n"));
        assert!(report(512, None, Status::All).ends_with("512 bytes (512B) copied\n"));
    }

    // U-174
    #[test]
    fn totals_beyond_32_and_64_bits_of_microbytes_keep_their_rate() {
        assert!(
            report(8_589_934_592, Some(4_000_000), Status::All)
                .ends_with("8589934592 bytes (8.0GB) copied, 4.000000 seconds, 2.0GB/s\n")
        );
        assert!(
            report(4_294_967_808, Some(1_000_000), Status::All)
                .ends_with("(4.0GB) copied, 1.000000 seconds, 4.0GB/s\n")
        );
        assert!(
            report(u64::MAX, Some(1_000_000), Status::All).ends_with("(16.0EB) copied, 1.000000 seconds, 16.0EB/s\n")
        );
        assert!(report(u64::MAX, Some(1), Status::All).ends_with("(16.0EB) copied, 0.000001 seconds, 16.0EB/s\n"));
    }

    // U-187
    #[test]
    fn sizes_and_rates_count_in_powers_of_1024() {
        let table = [
            (0, "0"),
            (1, "1"),
            (512, "512"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1_000_000, "976.6K"),
            (1_048_575, "1024.0K"),
            (1_048_576, "1.0M"),
            (1_073_741_824, "1.0G"),
        ];
        for (value, text) in table {
            assert_eq!(HumanReadable(value).to_string(), text);
        }
        assert!(
            report(1_000_000, Some(1_000_000), Status::All)
                .ends_with("(976.6KB) copied, 1.000000 seconds, 976.6KB/s\n")
        );
    }
}
