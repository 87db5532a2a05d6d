//! Findings as JSON, schema `roce-sniff/check/1`.

use std::io::{self, Write};

use anyhow::Result;
use roce_analyze::connections::Report;
use roce_analyze::connections::json::Congestion;
use roce_analyze::findings::{Finding, RULES};
use roce_analyze::spread::Spreads;
use roce_analyze::verdict::CARRIERS;
use serde_json::{Map, Value, json};

pub(super) fn write(out: &mut impl Write, findings: &[Finding], report: &Report) -> Result<()> {
    let totals = &report.totals;
    // Named as in the verdict. No finding where there was nothing to check is no good news.
    let versions: Map<String, Value> = (CARRIERS.iter().zip(totals.carriers))
        .map(|(carrier, packets)| (carrier.key().to_owned(), json!({ "packets": packets })))
        .collect();
    let document = json!({
        "schema": "roce-sniff/check/1",
        "source": { "frames": totals.frames },
        "versions": versions,
        "congestion": Congestion(totals),
        "spread": Spreads::of(report),
        "findings": findings,
    });
    serde_json::to_writer_pretty(&mut *out, &document).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

pub(super) fn rules(out: &mut impl Write) -> Result<()> {
    let rules: Vec<_> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "severity": rule.severity,
                "title": rule.title,
                "when": rule.when,
                "meaning": rule.meaning,
                "advice": rule.advice,
            })
        })
        .collect();
    let document = json!({ "schema": "roce-sniff/rules/1", "rules": rules });
    serde_json::to_writer_pretty(&mut *out, &document).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
