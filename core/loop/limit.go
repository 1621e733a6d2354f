package loop

import "golang.org/x/sys/unix"

// DescriptorLimit is how many descriptors the process may have; what has no
// limit is told as a very high one.
func DescriptorLimit() int { return descriptorLimit() }

func descriptorLimit() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil || r.Cur > 1<<30 {
		return 1 << 30
	}
	return int(r.Cur)
}

// acceptLimit is the descriptor number from which accepting waits until lower
// ones are free: an eighth of the process's descriptors is kept for connections
// to backends, without which the clients already accepted could not be served. The kernel gives out the lowest free number, so the number of a
// fresh descriptor says how many are in use.
func acceptLimit() int {
	limit := descriptorLimit()
	return limit - limit/8
}
