// Package headroom learns from live traffic how many requests a backend can have
// under way before its latency bends, and says how far from there it is. It is pure:
// it reads no clock, file or counter; mgmt/headroom/learner does.
//
//	counters, each 5 s ─► window ─► sample (concurrency, latency) ─► curve ─► estimate
//
// # What is measured
//
// Concurrency is the mean number of requests under way, by Little's law: the time
// all requests took together, by the time that passed. A gauge read now and then says
// the same with more noise, and is the check of it: where it shows far more than
// Little's law explains (tunnels, long polls), the sample is left out. Latency is the
// mean time to the first byte of the answer, which a slow client does not change. A
// sample is of 50 requests at least, so that its mean says something; of few windows
// with such means the median is taken (the median of means, which outliers do not move).
//
// # What is learned
//
// A curve is a sparse histogram over concurrency (steps of 19 %) and latency (9 %), whose
// weights halve in a week. It has 256 cells at most. When the latency of a backend has
// been another one for half a day of traffic, at loads that were known, the curve begins
// anew: the old one is of another machine.
//
// # Where it bends
//
// The knee of operational analysis (Denning and Buzen 1978; Kleinrock 1979, the point of
// greatest power): N* = X·R, the highest throughput times the latency without load. By
// Little's law that is the greatest n·R/R(n) of the curve. It counts as seen where
// latency is at least one and a half times the base from some load on, stays so at every
// higher one, and the throughput there is the highest known: latency that was high
// while the backend did less than it can is a disturbance and no limit.
//
// Looked at and not taken: Kneedle (Satopää and others 2011) finds a knee in every curve,
// also in one that was never loaded, and moves it with the highest load seen. The
// universal scalability law (Gunther 1993) is a parabola in latency; a server with N slots
// is flat and then a line, and the fit puts its knee elsewhere. The gradient of Netflix's
// concurrency-limits steers a limit on the way of requests and keeps no curve; its rule of
// a square root on top, as room for bursts, is what the advice for max_conns uses.
//
// # What it does not know
//
// A backend that was never loaded enough has no bend yet; what it carried well is a lower
// bound. A server that other farms or other clients use as well bends sooner than its
// own load says. Requests that differ much (a few slow ones by night) move the mean.
package headroom
