//! Owns time: releases due tasks, reclaims expired leases, sweeps.
