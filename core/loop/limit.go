package loop

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Client connections, backend connections and connected UDP sockets (one per flow)
// share the descriptors of the process. Half of the limit is reserved for connections
// and a quarter for connected UDP sockets. The rest is for listeners, memory and
// pollers. Connections and UDP sockets may each use all free descriptors except the
// unused part of the other's reserve. Without a listener of a kind, that kind has no
// reserve. Another eighth is withheld from clients: backend connections need it to
// serve the accepted ones.
//
// For connections, the number of a new descriptor decides: the kernel assigns the
// lowest free one, so it indicates the number in use. For UDP sockets, their count is
// checked before a socket is created.

// descriptors holds the descriptor counts of the process. They are the only words
// shared by the loops, and are written when a connection opens and when it closes.
var descriptors struct {
	limit                   atomic.Int64 // RLIMIT_NOFILE; 0 before the first loop
	conns, udpConns         atomic.Int64
	listeners, udpListeners atomic.Int64
	others                  atomic.Int64 // open descriptors except conns and udpConns, as of the last listener opened or closed
}

// readLimit reads the soft limit RLIMIT_NOFILE, which may change at run time. Values
// from 1<<30 upwards, including unlimited, are stored as 1<<30.
func readLimit() {
	var r unix.Rlimit
	limit := int64(1 << 30)
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil && r.Cur < 1<<30 {
		limit = int64(r.Cur)
	}
	descriptors.limit.Store(limit)
}

// countOpen adds by to what (listeners or udpListeners) and updates descriptors.others.
// fd is any open descriptor.
func countOpen(what *atomic.Int64, by int64, fd int) {
	what.Add(by)
	if free, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		sysClose(free)
		descriptors.others.Store(max(0, int64(free)-descriptors.conns.Load()-descriptors.udpConns.Load()))
	}
}

// acceptLimit returns the descriptor number from which accepting pauses until lower
// numbers are free.
func acceptLimit() int {
	limit := descriptors.limit.Load()
	kept := limit / 8
	if descriptors.udpListeners.Load() > 0 {
		kept += max(0, limit/4-descriptors.udpConns.Load())
	}
	return int(limit - kept)
}

// MostUDPConns returns the maximum number of connected UDP sockets the process may have
// now. At that number, a caller must close one before it opens another.
func MostUDPConns() int64 {
	limit := descriptors.limit.Load()
	most := limit * 3 / 4
	if descriptors.listeners.Load() > 0 {
		most = min(most, limit-max(limit/2, descriptors.conns.Load())-descriptors.others.Load())
	}
	return max(most, limit/16)
}
