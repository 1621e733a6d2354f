// Package measure reads the figures of a run from the kernel's accounting under /proc.
// These are the CPU time of process trees (schedstat, cross-checked with stat) and of the
// rest of the machine, memory (Pss), and the listeners of a port. Histogram stores
// latencies.
//
// Everything is sampled on demand and from outside; nothing runs in the background.
// Parsers take text as argument, so they can be tested without the files.
package measure
