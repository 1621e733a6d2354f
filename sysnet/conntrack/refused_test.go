package conntrack_test

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	ct "github.com/ti-mo/conntrack"
	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// everything calls every function that queries the kernel.
func everything(ctx context.Context) map[string]error {
	_, count := conntrack.Count(ctx, conntrack.Farms())
	_, list := conntrack.List(ctx, conntrack.Farms(), nil, 10)
	flushed, flush := conntrack.Flush(ctx, conntrack.Farms())
	only, flushOnly := conntrack.FlushOnly(ctx, func(uint32) bool { return true })
	if flushed+only != 0 {
		flush = errors.New("something was deleted")
	}
	return map[string]error{"count": count, "list": list, "flush": flush, "flush of some": flushOnly}
}

func TestKernelErrorsAreReported(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	track(t, dial(t), udp, "198.51.100.1", 1, conntrack.BackendMark(1), 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range everything(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s, not waited for: %v", what, err)
		}
	}
	done := make(chan struct{})
	var all map[string]error
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with what it has lost
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			t.Error(err)
			return
		}
		all = everything(t.Context())
		_, all["use"] = conntrack.Used()
	}()
	<-done
	for what, err := range all {
		if !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "tracked connections: ") {
			t.Errorf("%s, not permitted: %v", what, err)
		}
	}
	restore := descriptortest.Limit(t, 0)
	all = everything(t.Context())
	_, all["use"] = conntrack.Used()
	restore()
	for what, err := range all {
		if !errors.Is(err, unix.EMFILE) || !strings.HasPrefix(err.Error(), "tracked connections: ") {
			t.Errorf("%s, without a descriptor: %v", what, err)
		}
	}
	if n := total(t, conntrack.Filter{}); n != 1 {
		t.Errorf("%d entries are left", n)
	}
}

func TestInvalidQueriesAreRefused(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	track(t, dial(t), udp, "198.51.100.1", 1, conntrack.BackendMark(1), 0)
	for limit, ok := range map[int]bool{-1: false, 0: false, 1: true, conntrack.MaxListed: true, conntrack.MaxListed + 1: false} {
		page, err := conntrack.List(t.Context(), conntrack.Farms(), nil, limit)
		if (err == nil) != ok || len(page.Entries) != page.Total || ok != (page.Total == 1) || page.More {
			t.Errorf("%d entries: %+v, %v", limit, page, err)
		}
	}
	udpOnly, some := conntrack.Farms(), conntrack.Backends([]uint32{1})
	udpOnly.Protocol = udp
	for what, f := range map[string]conntrack.Filter{"a protocol": udpOnly, "some": some} {
		if n, err := conntrack.Flush(t.Context(), f); n != 0 || err == nil {
			t.Errorf("deleting of %s: %d, %v", what, n, err)
		}
	}
	if n, err := conntrack.Flush(t.Context(), conntrack.Backend(2)); n != 0 || err != nil {
		t.Errorf("deleting none: got %d, %v, want 0", n, err)
	}
	if n, err := conntrack.FlushOnly(t.Context(), func(id uint32) bool { return id == 2 }); n != 0 || err != nil {
		t.Errorf("deleting none of some: got %d, %v, want 0", n, err)
	}
	if n := total(t, conntrack.Filter{}); n != 1 {
		t.Errorf("%d entries are left", n)
	}
}

func TestEntryIsListedWithAllFields(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c := dial(t)
	a := netip.MustParseAddrPort
	f := ct.NewFlow(tcp, ct.StatusConfirmed|ct.StatusSeenReply|ct.StatusAssured, a("198.51.100.1:1000").Addr(), a("192.0.2.1:80").Addr(), 1000, 80, 600, 0x5c000007)
	f.TupleReply.IP.SourceAddress, f.TupleReply.Proto.SourcePort = a("10.0.0.1:8080").Addr(), 8080
	f.TupleReply.IP.DestinationAddress, f.TupleReply.Proto.DestinationPort = a("10.0.0.254:2000").Addr(), 2000
	f.ProtoInfo.TCP = &ct.ProtoInfoTCP{State: 3}
	if err := c.Create(f); err != nil {
		t.Fatal(err)
	}
	page, err := conntrack.List(t.Context(), conntrack.Backend(7), nil, 10)
	if err != nil || len(page.Entries) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	got := page.Entries[0]
	if got.Timeout > 600 || got.Timeout < 400 {
		t.Errorf("it lives for %d seconds more", got.Timeout)
	}
	got.Timeout = 600
	want := conntrack.Entry{Mark: 0x5c000007, Protocol: tcp, Client: a("198.51.100.1:1000"), To: a("192.0.2.1:80"), Backend: a("10.0.0.1:8080"), Via: a("10.0.0.254:2000"),
		State: "established", Timeout: 600}
	if got != want {
		t.Errorf("listed %+v, want %+v", got, want)
	}
}
