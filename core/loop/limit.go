package loop

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// The descriptors of the process are shared by its connections, those of clients
// and those to backends, and by its connected UDP sockets, one for each flow. Each
// kind may take what is free, except what the other has not used yet of its
// share: half of all is for connections, a quarter for connected UDP sockets. The
// rest is for listeners, memory and pollers. A kind nobody listens for has no
// share. An eighth more is kept from clients, for connections to backends:
// without these the accepted clients could not be served.
//
// Connections are held to this by the number of a fresh descriptor: the kernel
// gives out the lowest one that is free, so it says how many are in use. UDP
// sockets are held to it by their count, before one is made.

// descriptors is what the loops of the process have open. These are the only
// words they share, written once for a connection.
var descriptors struct {
	limit                   atomic.Int64 // RLIMIT_NOFILE; 0 before the first loop
	conns, udpConns         atomic.Int64
	listeners, udpListeners atomic.Int64
	others                  atomic.Int64 // neither conns nor udpConns, when one was last opened or closed
}

// readLimit asks how many descriptors the process may have: it may be changed
// while it runs. What has no limit is told as a very high one.
func readLimit() {
	var r unix.Rlimit
	limit := int64(1 << 30)
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil && r.Cur < 1<<30 {
		limit = int64(r.Cur)
	}
	descriptors.limit.Store(limit)
}

// countOpen notes that what is counted, listeners or udpListeners, became one more or less,
// and how many descriptors there are besides connections and connected UDP sockets. fd is any
// descriptor.
func countOpen(what *atomic.Int64, by int64, fd int) {
	what.Add(by)
	if free, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		sysClose(free)
		descriptors.others.Store(max(0, int64(free)-descriptors.conns.Load()-descriptors.udpConns.Load()))
	}
}

// acceptLimit is the descriptor number from which accepting waits until lower
// ones are free.
func acceptLimit() int {
	limit := descriptors.limit.Load()
	kept := limit / 8
	if descriptors.udpListeners.Load() > 0 {
		kept += max(0, limit/4-descriptors.udpConns.Load())
	}
	return int(limit - kept)
}

// MostUDPConns is how many connected UDP sockets the loops of the process may have now; who
// wants more closes one first.
func MostUDPConns() int64 {
	limit := descriptors.limit.Load()
	most := limit * 3 / 4
	if descriptors.listeners.Load() > 0 {
		most = min(most, limit-max(limit/2, descriptors.conns.Load())-descriptors.others.Load())
	}
	return max(most, limit/16)
}
