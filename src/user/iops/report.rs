//! What `iops` prints: a table for people, or fio's JSON. All arithmetic is in integers; a program of this project holds no
//! floating-point instruction.
#![forbid(unsafe_code)]

use super::histogram::{Histogram, PERCENTILES};
use super::options::Options;
use crate::user::print::Text;
use core::fmt;

const NANOSECONDS: u128 = 1_000_000_000;

/// The figures of a run.
#[derive(Debug)]
pub struct Report<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// Bytes read from.
    pub size: u64,
    /// Reads that gave bytes.
    pub total_ios: u64,
    /// Of those, reads that gave fewer than a block.
    pub short_ios: u64,
    /// Bytes that they gave.
    pub io_bytes: u64,
    /// Time of the run.
    pub elapsed_ns: u64,
    /// Latencies in ticks.
    pub latencies: &'a Histogram,
    /// Ticks of the run, which say how long a tick is.
    pub elapsed_ticks: u64,
}

/// A number with a fixed count of decimals.
struct Fixed {
    scaled: u128,
    decimals: usize,
}

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = 10u128.pow(self.decimals as u32);
        write!(
            f,
            "{}.{:0width$}",
            self.scaled / scale,
            self.scaled % scale,
            width = self.decimals
        )
    }
}

/// The change from `base` to `now`, in percent with one decimal and a sign. `base` is not 0.
pub struct Change {
    /// Before.
    pub base: u64,
    /// Now, in the same unit.
    pub now: u64,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base, now) = (u128::from(self.base), u128::from(self.now));
        // Tenths of a percent, rounded to the nearest.
        let tenths = (now.abs_diff(base) * 1000 + base / 2) / base;
        let sign = if now < base && tenths > 0 { '-' } else { '+' };
        write!(
            f,
            "{sign}{}%",
            Fixed {
                scaled: tenths,
                decimals: 1
            }
        )
    }
}

impl Report<'_> {
    /// `count` per second, times `scale`; 0 when no time passed.
    fn per_second(&self, count: u64, scale: u128) -> u128 {
        let scaled = u128::from(count) * NANOSECONDS * scale;
        (scaled + u128::from(self.elapsed_ns) / 2)
            .checked_div(self.elapsed_ns.into())
            .unwrap_or(0)
    }

    /// Thousandths of the reads per second.
    pub fn iops_thousandths(&self) -> u64 {
        self.per_second(self.total_ios, 1000) as u64
    }

    fn nanoseconds(&self, ticks: u128) -> u128 {
        (ticks * u128::from(self.elapsed_ns))
            .checked_div(self.elapsed_ticks.into())
            .unwrap_or(0)
    }

    fn latency(&self, ticks: u64) -> u128 {
        self.nanoseconds(ticks.into())
    }

    fn mean(&self) -> Fixed {
        Fixed {
            scaled: self.nanoseconds(self.latencies.mean_thousandths()),
            decimals: 3,
        }
    }

    fn write_json(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { order, block, seed, .. } = self.options;
        let iops = Fixed {
            scaled: self.per_second(self.total_ios, 1_000_000),
            decimals: 6,
        };
        let bandwidth = self.per_second(self.io_bytes, 1);
        write!(
            f,
            "{{\"jobs\":[{{\"jobname\":\"iops\",\"error\":0,\"job options\":{{\"filename\":\"{}\",\"rw\":\"{}\",\
             \"bs\":\"{block}\",\"size\":\"{}\",\"ioengine\":\"psync\",\"randseed\":\"{seed}\"}},",
            Escaped(&self.options.filename.to_string_lossy()),
            order.name(),
            self.size
        )?;
        write!(
            f,
            "\"read\":{{\"io_bytes\":{},\"io_kbytes\":{},\"bw_bytes\":{bandwidth},\"bw\":{},\"iops\":{iops},\
             \"runtime\":{},\"elapsed_ns\":{},\"total_ios\":{},\"short_ios\":{},",
            self.io_bytes,
            self.io_bytes >> 10,
            bandwidth >> 10,
            self.elapsed_ns.div_ceil(1_000_000),
            self.elapsed_ns,
            self.total_ios,
            self.short_ios
        )?;
        write!(
            f,
            "\"clat_ns\":{{\"min\":{},\"max\":{},\"mean\":{},\"N\":{},\"percentile\":{{",
            self.latency(self.latencies.least()),
            self.latency(self.latencies.most()),
            self.mean(),
            self.latencies.total()
        )?;
        for (index, hundredths) in PERCENTILES.into_iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let value = self.latency(self.latencies.percentile(hundredths));
            write!(f, "{comma}\"{}.{:02}0000\":{value}", hundredths / 100, hundredths % 100)?;
        }
        write!(f, "}}}}}}")?;
        if let Some(base) = self.options.base {
            let now = self.iops_thousandths();
            write!(f, ",\"change\":\"{}\"", Change { base, now })?;
        }
        writeln!(f, "}}]}}")
    }

    fn write_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { order, block, seed, .. } = self.options;
        writeln!(
            f,
            "iops: {} of {}, psync, bs {block}, size {}, seed {seed}",
            order.name(),
            Text(self.options.filename.to_bytes()),
            self.size
        )?;
        let thousandths = self.iops_thousandths();
        let iops = Fixed {
            scaled: u128::from(thousandths),
            decimals: 3,
        };
        let kibibytes = Fixed {
            scaled: self.per_second(self.io_bytes, 10) >> 10,
            decimals: 1,
        };
        writeln!(
            f,
            "  read: IOPS {iops}, BW {kibibytes} KiB/s, {} ios ({} short), {} bytes in {} ms",
            self.total_ios,
            self.short_ios,
            self.io_bytes,
            Fixed {
                scaled: u128::from(self.elapsed_ns / 1000),
                decimals: 3
            }
        )?;
        writeln!(
            f,
            "  clat (ns): min {}, avg {}, max {}",
            self.latency(self.latencies.least()),
            self.mean(),
            self.latency(self.latencies.most())
        )?;
        write!(f, "  clat percentiles (ns):")?;
        for hundredths in [100, 5000, 9000, 9500, 9900, 9990] {
            let value = self.latency(self.latencies.percentile(hundredths));
            write!(f, " {}.{:02}th={value}", hundredths / 100, hundredths % 100)?;
        }
        writeln!(f)?;
        if let Some(base) = self.options.base {
            let scaled = u128::from(base);
            let change = Change { base, now: thousandths };
            writeln!(f, "  against {} IOPS: {change}", Fixed { scaled, decimals: 3 })?;
        }
        Ok(())
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.options.json {
            self.write_json(f)
        } else {
            self.write_table(f)
        }
    }
}

/// Text inside a JSON string.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\0'..=' ' => write!(f, "\\u{:04x}", character as u32)?,
                _ => write!(f, "{character}")?,
            }
        }
        Ok(())
    }
}
