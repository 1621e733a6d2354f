// Package rounds runs the cases: it starts the contestants side by side, puts
// each under load for a slice in turn (A B C, then C B A), samples the kernel's
// accounting around every slice, and ends what it started.
//
// The contestants of a case are all alive at once, so they see the same
// machine; only one is under load at a time. They are started anew a few times
// per case, because two instances of the same proxy can differ by a tenth for
// their whole life. Cases about memory start a fresh contestant per slice.
//
// A Runner belongs to one goroutine. Everything it does is bounded in time and
// stops when its context does.
package rounds
