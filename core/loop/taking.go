package loop

import (
	"time"

	"golang.org/x/sys/unix"
)

// Taking reports whether bytes wait for the peer, and how long ago (nanoseconds)
// it took some last: as long as there is room in the kernel, and as long as it
// has none, nobody hears of that. A peer that is gone or has no room takes none,
// though the kernel tries. It is a question to the kernel.
func (c *Conn) Taking() (since int64, waiting bool) {
	info, err := unix.GetsockoptTCPInfo(int(c.fd), unix.SOL_TCP, unix.TCP_INFO)
	if err != nil || info.Unacked == 0 && info.Notsent_bytes == 0 && c.Pending() == 0 {
		return 0, false
	}
	return int64(max(info.Last_data_sent, info.Last_ack_recv)) * int64(time.Millisecond), true
}
