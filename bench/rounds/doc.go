// Package rounds runs the cases. It starts the contestants side by side and puts each
// under load for a slice in turn (A B C, then C B A). It samples the kernel's accounting
// around every slice, and ends what it started.
//
// The contestants of a case run at the same time, so they see the same machine, but only
// one is under load at a time. They are restarted a few times per case, because two
// instances of the same proxy can differ by a tenth permanently. Cases about memory start
// a fresh contestant per slice.
//
// A Runner belongs to one goroutine. All its steps have time limits and stop when the
// context ends.
package rounds
