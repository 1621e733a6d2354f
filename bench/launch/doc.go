// Package launch starts processes pinned to a CPU and kills exactly those, with their
// descendants.
//
// Every process is started from one OS thread that lives as long as the program. The
// thread sets its CPU affinity before the fork, so the child and its threads inherit it.
// It is also the parent for PR_SET_PDEATHSIG, so that a killed bench leaves no proxy
// behind.
//
// Each child has its own session. Ctrl-C reaches only the bench, which ends the children
// in order. If the kernel schedules by session (sched(7), autogroup), a contestant does
// not share its part with other programs of the terminal.
package launch
