//! Several runs with a purpose: plan, next step, ledger.
