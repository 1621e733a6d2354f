// Package launch starts processes pinned to a CPU and ends exactly those, with
// everything they started, and nothing else.
//
// Every process is started from one OS thread that lives as long as the
// program: it takes the wanted CPU affinity before it forks, so the child and
// its threads inherit it, and it is the parent whose death the kernel reports,
// so a bench that is killed leaves no proxy behind (PR_SET_PDEATHSIG).
//
// Each child leads a session of its own. Ctrl-C reaches the bench only, which
// ends them in order; and where the kernel shares a CPU between sessions first
// (sched(7), autogroup), no contestant has to share its part with whatever else
// was started from the same terminal.
package launch
