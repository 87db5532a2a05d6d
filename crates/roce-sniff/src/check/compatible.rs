//! What the table of compatible modes says of findings about versions; `probe` reads the same.

use roce_analyze::findings::{Finding, Value};
use roce_host::RoceMode;
use roce_host::compat::{Row, verdict};

/// Adds the row of the table to each finding that is about two versions.
pub(super) fn explain(findings: &mut [Finding]) {
    for finding in findings {
        let row = match finding.id {
            "version-mismatch" => verdict(RoceMode::V2, RoceMode::V1),
            "mixed-versions" => verdict(RoceMode::V1, RoceMode::V2),
            _ => continue,
        };
        finding.evidence.push(("compatibility", Value::Text(told(row))));
    }
}

fn told(row: &Row) -> String {
    let Row { client, server, reason, source, .. } = row;
    let connects = if row.connects { "connects" } else { "does not connect" };
    let supported = if row.supported { "" } else { ", and is not supported" };
    format!("client {client}, server {server} {connects}{supported}: {reason} ({source})")
}
