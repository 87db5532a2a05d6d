//! Findings as JSON, schema `roce-sniff/check/1`.

use std::io::{self, Write};

use anyhow::Result;
use roce_analyze::findings::{Finding, RULES};
use serde_json::json;

pub(super) fn write(out: &mut impl Write, findings: &[Finding]) -> Result<()> {
    let document = json!({ "schema": "roce-sniff/check/1", "findings": findings });
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
