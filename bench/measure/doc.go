// Package measure takes the figures of a run from the kernel's own accounting
// under /proc: CPU time of whole process trees (schedstat, cross-checked with
// stat), CPU time used by anything else on the machine, memory (Pss), and who
// listens on a port. Histogram keeps latencies.
//
// Everything is sampled from outside and on demand; nothing runs in the
// background. Values that parse text take the text, so they can be tested
// without the files.
package measure
