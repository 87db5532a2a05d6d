//! From the operations of the file to those of the plan.

use toml::Spanned;

use super::check::{Check, Result, dir};
use super::file::{Connection, Op, OpKind, Service, Side};
use crate::plan::{Both, OpPlan, Sizes};

impl Check<'_> {
    pub(super) fn ops(&self, entry: &Connection, pmtu: u32) -> Result<Both<Vec<OpPlan>>> {
        let mut ops = Both::new(Vec::new(), Vec::new());
        for op in &entry.op {
            let plan = self.op(op, entry.service, pmtu)?;
            ops.of_mut(dir(op.by)).push(plan);
        }
        Ok(ops)
    }

    fn op(&self, op: &Op, service: Service, pmtu: u32) -> Result<OpPlan> {
        let kind = *op.kind.get_ref();
        self.op_fits(op, service)?;
        let longest = if service == Service::Ud { pmtu } else { 1 << 31 };
        let sizes = match (&op.size, op.sizes.as_slice()) {
            _ if matches!(kind, OpKind::CompareSwap | OpKind::FetchAdd | OpKind::AtomicWrite) => {
                Sizes::InTurn(vec![8])
            }
            (Some(size), []) => Sizes::InTurn(vec![*size.get_ref()]),
            (None, []) => Sizes::InTurn(vec![64]),
            (None, &[low, high]) if op.random_sizes && low <= high => Sizes::Between(low, high),
            (None, _) if op.random_sizes => {
                return self.wrong(&op.kind.span(), "random_sizes needs sizes = [least, most]");
            }
            (None, sizes) => Sizes::InTurn(sizes.to_vec()),
            (Some(size), _) => {
                return self.wrong(&size.span(), "size and sizes exclude each other");
            }
        };
        let largest = match &sizes {
            Sizes::InTurn(sizes) => sizes.iter().copied().max().unwrap_or(0),
            Sizes::Between(_, high) => *high,
        };
        if largest > longest {
            let span = op.size.as_ref().map_or(op.kind.span(), Spanned::span);
            return self.wrong(&span, format!("{largest} bytes are more than {longest}"));
        }
        let depth = self.between_or(op.depth.as_ref(), "depth", (1, 65_536), 65_536)?;
        Ok(OpPlan {
            kind,
            sizes,
            count: op.count,
            immediate: op.immediate,
            invalidate: op.invalidate,
            solicited: op.solicited,
            interval: op.interval.0,
            start: op.start.0,
            depth: usize::try_from(depth).unwrap_or(usize::MAX),
        })
    }

    /// Whether the service has such an operation.
    fn op_fits(&self, op: &Op, service: Service) -> Result<()> {
        let kind = *op.kind.get_ref();
        let known = match service {
            Service::Rc => true,
            Service::Xrc => !matches!(kind, OpKind::AtomicWrite | OpKind::Flush),
            Service::Uc => matches!(kind, OpKind::Send | OpKind::Write),
            Service::Ud => kind == OpKind::Send,
        };
        if !known {
            return self.wrong(&op.kind.span(), "the service has no such operation");
        }
        if service == Service::Xrc && op.by == Side::To {
            return self.wrong(&op.kind.span(), "only `from` makes requests on an XRC connection");
        }
        let can_invalidate = matches!(service, Service::Rc | Service::Xrc) && kind == OpKind::Send;
        if op.invalidate && (!can_invalidate || op.immediate) {
            return self.wrong(&op.kind.span(), "only a SEND without immediate can invalidate");
        }
        if op.immediate && !matches!(kind, OpKind::Send | OpKind::Write) {
            return self.wrong(&op.kind.span(), "only SEND and WRITE can have immediate data");
        }
        Ok(())
    }
}
