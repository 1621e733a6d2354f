package loop

import (
	"testing"

	"golang.org/x/sys/unix"
)

// An eighth is reserved for backends, half for connections and a quarter for connected
// UDP sockets. Without a listener of a kind there is no reserve for it.
func TestDescriptorsAreShared(t *testing.T) {
	file := newSingle(t).peer
	d := &descriptors
	all := []interface {
		Load() int64
		Store(int64)
	}{&d.limit, &d.conns, &d.udpConns, &d.listeners, &d.udpListeners, &d.others}
	for _, word := range all {
		defer word.Store(word.Load())
	}
	for _, test := range []struct {
		conns, udpConns, listeners, udpListeners, others int64
		accept                                           int
		most                                             int64
	}{
		{0, 0, 0, 0, 10, 700, 600},
		{300, 0, 0, 0, 10, 700, 600},
		{0, 0, 1, 0, 10, 700, 390},
		{300, 0, 1, 0, 10, 700, 390},
		{500, 0, 1, 0, 10, 700, 290},
		{780, 0, 1, 0, 10, 700, 50},
		{0, 0, 0, 1, 10, 500, 600},
		{0, 50, 0, 1, 10, 550, 600},
		{0, 300, 0, 1, 10, 700, 600},
		{0, 0, 1, 1, 0, 500, 400},
	} {
		for i, n := range []int64{800, test.conns, test.udpConns, test.listeners, test.udpListeners, test.others} {
			all[i].Store(n)
		}
		if accept, most := acceptLimit(), MostUDPConns(); accept != test.accept || most != test.most {
			t.Errorf("%+v: accepting waits from %d on, and there are %d UDP sockets", test, accept, most)
		}
	}
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		t.Fatal(err)
	}
	if readLimit(); d.limit.Load() != int64(min(r.Cur, 1<<30)) {
		t.Errorf("the limit is %d, want %d", d.limit.Load(), r.Cur)
	}
	for _, word := range all[1:] {
		word.Store(0)
	}
	countOpen(&d.listeners, 1, int(file.Fd()))
	free, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(free)
	if d.listeners.Load() != 1 || d.others.Load() != int64(free) {
		t.Errorf("%d listeners, and %d other descriptors, want %d", d.listeners.Load(), d.others.Load(), free)
	}
	d.conns.Store(1)
	d.udpConns.Store(2)
	if countOpen(&d.listeners, -1, int(file.Fd())); d.listeners.Load() != 0 || d.others.Load() != max(0, int64(free)-3) {
		t.Errorf("%d listeners, and %d other descriptors, want %d", d.listeners.Load(), d.others.Load(), free-3)
	}
}
