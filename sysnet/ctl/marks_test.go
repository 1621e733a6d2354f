package ctl_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/shm/shmtest"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// marker is the engine's end of a ServeMarks connection.
type marker struct {
	*net.UnixConn
	t         *testing.T
	published *marks.Published
	log       *bytes.Buffer // valid after stop
	// stop ends ServeMarks.
	stop func()
}

// common lists the kinds published in most tests.
var common = []marks.Kind{{Mark: 1}, {Mark: 7}, {Mark: 1<<32 - 1}, {Mark: 7, V6: true}, {Mark: 7, UDP: true}, {Mark: 7, V6: true, UDP: true},
	{Mark: marks.Transparent}, {Mark: marks.Transparent, V6: true}}

// newMarker starts ServeMarks with the common kinds. first runs on its goroutine
// beforehand.
func newMarker(t *testing.T, first func()) *marker {
	t.Helper()
	engine, netd := shmtest.Pair(t)
	for _, end := range []*net.UnixConn{engine, netd} {
		if err := end.SetWriteBuffer(2 << 10); err != nil {
			t.Fatal(err)
		}
	}
	m := &marker{UnixConn: engine, t: t, published: published(t), log: &bytes.Buffer{}}
	if err := m.published.Set(common); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		first()
		ctl.ServeMarks(ctx, netd, m.published, slog.New(slog.NewTextHandler(m.log, nil)))
	}()
	m.stop = sync.OnceFunc(func() { cancel(); <-done; _ = m.Close() })
	t.Cleanup(m.stop)
	return m
}

// published returns an empty list.
func published(t *testing.T) *marks.Published {
	t.Helper()
	f, err := shm.Shared("published", marks.PublishedSize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mem.Close() })
	p, err := marks.OpenPublished(mem.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask sends a request and returns the answer with its sockets, which the test closes at
// its end.
func (m *marker) ask(r marks.Request) (marks.Answer, []int) {
	m.t.Helper()
	if _, err := m.Write(r.AppendTo(nil)); err != nil {
		m.t.Fatal(err)
	}
	return m.answer()
}

func (m *marker) answer() (marks.Answer, []int) {
	m.t.Helper()
	_ = m.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 100)
	n, fds, err := shm.ReceiveDescriptors(m.UnixConn, buf)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { shm.CloseDescriptors(fds) })
	a, err := marks.ParseAnswer(buf[:n])
	if err != nil || a.Count != len(fds) {
		m.t.Fatalf("%+v with %d sockets, %v", a, len(fds), err)
	}
	return a, fds
}

// startMarker starts ServeMarks, or skips the test if marks cannot be set.
func startMarker(t *testing.T) *marker {
	t.Helper()
	m := newMarker(t, func() {})
	if a, _ := m.ask(marks.Request{Kind: marks.Kind{Mark: 1}, Count: 1}); a.Code == marks.NotPermitted {
		t.Skip("needs root: an ordinary user may not set marks")
	}
	return m
}

func TestMarkedSocketsMatchTheRequest(t *testing.T) {
	m := startMarker(t)
	for number, k := range []marks.Kind{{Mark: 7}, {Mark: 1<<32 - 1}, {Mark: 7, V6: true}, {Mark: 7, UDP: true}, {Mark: 7, V6: true, UDP: true}} {
		a, fds := m.ask(marks.Request{Number: uint32(number), Kind: k, Count: marks.MaxCount})
		if k.V6 && a.Code == marks.NoFamily {
			t.Log("not shown: there is no IPv6 here")
			continue
		}
		if a != (marks.Answer{Number: uint32(number), Kind: k, Count: marks.MaxCount}) {
			t.Fatalf("%v: answered %+v", k, a)
		}
		domain := unix.AF_INET
		if k.V6 {
			domain = unix.AF_INET6
		}
		protocol := unix.IPPROTO_TCP
		if k.UDP {
			protocol = unix.IPPROTO_UDP
		}
		for _, fd := range fds {
			for name, want := range map[int]int{unix.SO_MARK: int(k.Mark), unix.SO_DOMAIN: domain, unix.SO_PROTOCOL: protocol, unix.SO_ACCEPTCONN: 0} {
				if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, name); err != nil || uint32(got) != uint32(want) {
					t.Errorf("%v: option %d is %d, want %d (%v)", k, name, got, want, err)
				}
			}
			flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			if _, err := unix.Getpeername(fd); flags&unix.O_NONBLOCK == 0 || err != unix.ENOTCONN {
				t.Errorf("%v: flags %#x, peer %v", k, flags, err)
			}
		}
	}
}

func TestTransparentSocketsMayHaveAnySourceAddress(t *testing.T) {
	m := startMarker(t)
	for _, v6 := range []bool{false, true} {
		a, fds := m.ask(marks.Request{Kind: marks.Kind{Mark: marks.Transparent, V6: v6}, Count: 2})
		if v6 && a.Code == marks.NoFamily {
			t.Log("not shown: there is no IPv6 here")
			continue
		}
		if a.Code != marks.Made || len(fds) != 2 {
			t.Fatalf("answered %+v", a)
		}
		for _, fd := range fds {
			var foreign unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{198, 51, 100, 7}}
			if v6 {
				foreign = &unix.SockaddrInet6{Addr: [16]byte{0x20, 1, 0xd, 0xb8, 15: 7}}
			}
			if err := unix.Bind(fd, foreign); err != nil {
				t.Errorf("binding to an address of another machine: %v", err)
			}
			if mark, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK); err != nil || mark != 0 {
				t.Errorf("it has mark %#x, %v", mark, err)
			}
		}
	}
}

func TestOnlyPublishedKindsGetSockets(t *testing.T) {
	m := startMarker(t)
	needed := []marks.Kind{{Mark: 7}, {Mark: marks.Transparent, V6: true}, {Mark: 9, UDP: true}}
	others := []marks.Kind{{Mark: 8}, {Mark: 7, V6: true}, {Mark: 7, UDP: true}, {Mark: marks.Transparent}, {Mark: 9}, {Mark: 1<<32 - 1}}
	made := func(when string, kinds []marks.Kind, want bool) {
		t.Helper()
		for _, k := range kinds {
			a, fds := m.ask(marks.Request{Kind: k, Count: 2})
			if a.Code == marks.NoFamily {
				t.Log("not shown: there is no IPv6 here")
			} else if got := a.Code == marks.Made && len(fds) == 2; got != want || !want && (a.Code != marks.Unneeded || len(fds) != 0) {
				t.Errorf("%s, %v: answered %+v with %d sockets", when, k, a, len(fds))
			}
		}
	}
	if err := m.published.Set(nil); err != nil {
		t.Fatal(err)
	}
	made("before any farm", slices.Concat(needed, others), false)
	if err := m.published.Set(needed); err != nil {
		t.Fatal(err)
	}
	made("published", needed, true)
	made("published are others", others, false)
	if err := m.published.Set(others); err != nil {
		t.Fatal(err)
	}
	made("their farms are gone", needed, false)
	made("published", others, true)
	m.stop()
	if n := strings.Count(m.log.String(), "does not get"); n != 1 {
		t.Errorf("%d log lines about it:\n%s", n, m.log)
	}
}

// Requests for unpublished kinds must neither keep netd busy nor flood the log.
func TestRequestsForUnneededKindsAreSlowedDown(t *testing.T) {
	m := startMarker(t)
	const asked = 20
	began := time.Now()
	for range asked {
		if a, _ := m.ask(marks.Request{Kind: marks.Kind{Mark: 8}, Count: 1}); a.Code != marks.Unneeded {
			t.Fatalf("answered %+v", a)
		}
	}
	if took := time.Since(began); took < asked*10*time.Millisecond {
		t.Errorf("%d were answered in %v", asked, took)
	}
}

func TestMissingCapabilityMakesNoSockets(t *testing.T) {
	m := newMarker(t, func() {
		runtime.LockOSThread() // stays locked: the thread ends with its reduced capabilities
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			t.Error(err)
		}
	})
	for range 3 {
		if a, fds := m.ask(marks.Request{Number: 3, Kind: marks.Kind{Mark: 7}, Count: 2}); a.Code != marks.NotPermitted || a.Number != 3 || fds != nil {
			t.Errorf("answered %+v, %d sockets", a, len(fds))
		}
	}
	m.stop()
	if n := strings.Count(m.log.String(), "cannot be made"); n != 1 {
		t.Errorf("%d log lines about it:\n%s", n, m.log)
	}
}

func TestInvalidEngineMessagesAreIgnored(t *testing.T) {
	m := startMarker(t)
	good := marks.Request{Number: 9, Kind: marks.Kind{Mark: 7}, Count: 1}
	with := func(at int, b byte) []byte { msg := good.AppendTo(nil); msg[at] = b; return msg }
	for _, msg := range [][]byte{
		nil, []byte("x"), make([]byte, 4096), append(good.AppendTo(nil), 0),
		with(11, 0), with(12, 1), with(13, 2), with(14, 1), with(15, 0), with(15, 65), with(15, 255),
	} {
		if _, err := m.Write(msg); err != nil {
			t.Fatal(err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := shm.Send(m.UnixConn, good.AppendTo(nil), w); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if a, _ := m.ask(marks.Request{Number: 10, Kind: good.Kind, Count: 1}); a.Number != 10 {
		t.Errorf("answered %+v", a)
	}
	_ = r.SetReadDeadline(time.Now().Add(2 * time.Second))
	if _, err := r.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("a descriptor of the engine is still open: %v", err)
	}
	m.stop()
	if n := strings.Count(m.log.String(), "does not get"); n != 1 {
		t.Errorf("%d lines:\n%s", n, m.log)
	}
}

func TestNonReadingEngineIsBounded(t *testing.T) {
	m := startMarker(t)
	ask := marks.Request{Kind: marks.Kind{Mark: 7}, Count: marks.MaxCount}.AppendTo(nil)
	_ = m.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	for {
		if _, err := m.Write(ask); err != nil {
			break
		}
	}
	// Each pending request gets an answer, is dropped or is still unread; afterwards
	// requests work again.
	held := 0
	_ = m.SetWriteDeadline(time.Time{})
	for last := false; !last; {
		if _, err := m.Write(marks.Request{Number: 5, Kind: marks.Kind{Mark: 7}, Count: 1}.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		a, fds := m.answer()
		held += len(fds)
		shm.CloseDescriptors(fds)
		last = a.Number == 5
		if held > 20*marks.MaxCount {
			t.Fatalf("%d sockets waited", held)
		}
	}
	t.Logf("%d sockets waited", held)
}

func TestMarkedSocketsAreMadeAtABoundedRate(t *testing.T) {
	m := startMarker(t)
	ask := marks.Request{Kind: marks.Kind{Mark: 7}, Count: 1}
	const asked = 5000 // each costs 9 sockets: the burst and half a second
	began := time.Now()
	go func() {
		for range asked {
			if _, err := m.Write(ask.AppendTo(nil)); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 100)
	_ = m.SetReadDeadline(time.Now().Add(10 * time.Second))
	for range asked {
		_, fds, err := shm.ReceiveDescriptors(m.UnixConn, buf)
		if err != nil {
			t.Fatal(err)
		}
		shm.CloseDescriptors(fds)
	}
	if took := time.Since(began); took < 400*time.Millisecond {
		t.Errorf("%d requests were answered in %v", asked, took)
	}
}
