// Package headroom learns from live traffic how many requests a backend can have in
// flight before its latency bends, and how far it is from there. It is pure: it reads no
// clock, file or counter; mgmt/headroom/learner does.
//
//	counters, each 5 s ─► window ─► sample (concurrency, latency) ─► curve ─► estimate
//
// # What is measured
//
// Concurrency is the mean number of requests in flight by Little's law: the sum of all
// request times divided by the elapsed time. A gauge has more noise and serves as a
// check. If it is much higher than Little's law explains (tunnels, long polls), the
// sample is discarded. Latency is the mean time to first byte, which a slow client does
// not affect. A sample has at least 50 requests, so that its mean is meaningful. The
// median of such means is used, which is robust against outliers (median of means).
//
// # What is learned
//
// A curve is a sparse histogram over concurrency (steps of 19 %) and latency (9 %) with
// at most 256 cells, whose weights halve in a week. If the latency differs for half a day
// of traffic at known loads, the curve restarts, because the old one describes another
// machine.
//
// # Where it bends
//
// The bend is the knee of operational analysis (Denning and Buzen 1978; Kleinrock 1979,
// the point of greatest power): N* = X·R, the highest throughput times the latency
// without load. By Little's law that is the maximum of n·R/R(n) on the curve. It counts
// as seen under two conditions. Latency is at least 1.5 times the base from some load on,
// at every higher one. The throughput there is the highest known: high latency below the
// known capacity is a disturbance and no limit.
//
// Rejected alternatives: Kneedle (Satopää et al. 2011) finds a knee in every curve, even
// in one of an idle backend, and moves it with the highest load. The universal
// scalability law (Gunther 1993) is a parabola in latency. A server with N slots is flat
// and then linear, so the fit puts its knee elsewhere. The gradient of Netflix's
// concurrency-limits controls a limit inline and keeps no curve. The advice for max_conns
// uses its rule of an additional square root for bursts.
//
// # What it does not know
//
// The bend of a backend with little load is unknown; its carried load is a lower bound. A
// server shared with other farms or clients bends earlier than its own load suggests. A
// few very different requests (e.g. slow ones at night) shift the mean.
package headroom
