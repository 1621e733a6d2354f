// Package launch starts processes pinned to a CPU and ends exactly those, with
// everything they started, and nothing else.
//
// Every process is started from one OS thread that lives as long as the
// program: it takes the wanted CPU affinity before it forks, so the child and
// its threads inherit it, and it is the parent whose death the kernel reports,
// so a bench that is killed leaves no proxy behind (PR_SET_PDEATHSIG). Children
// are in process groups of their own: Ctrl-C reaches the bench, which ends them
// in order.
package launch
