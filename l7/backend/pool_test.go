package backend_test

import (
	"net/netip"
	"os"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/l7test"
)

// holding is a backend that responds only to /end and reports the connection of each
// request.
func holding(t *testing.T, settings ...xhttp2.Setting) (addr string, came chan int) {
	came = make(chan int, 1000)
	addr, _ = l7test.NewFrameServer(t, func(s *l7test.FrameServer) {
		for {
			id, path := s.Request()
			if id == 0 {
				return
			}
			came <- s.N
			if path == "/end" {
				s.Answer(id, path)
			}
		}
	}, settings...)
	return addr, came
}

func concurrent(n uint32) xhttp2.Setting {
	return xhttp2.Setting{ID: xhttp2.SettingMaxConcurrentStreams, Val: n}
}

func TestAConnectionHas128StreamsAtMost(t *testing.T) {
	t.Parallel()
	addr, came := holding(t, concurrent(1000))
	d := newDesk(t, addr)
	first := d.exchange("/end").start()
	first.wants("connected, own true")
	first.wants("answered")
	<-came
	for i := range 130 {
		d.exchange("/held").start()
		if got, want := <-came, 1+i/128; got != want {
			t.Fatalf("request %d came on connection %d, want %d", i, got, want)
		}
	}
}

// Until SETTINGS arrive, the recommended minimum is assumed.
func TestPendingConnectionGets100Streams(t *testing.T) {
	t.Parallel()
	addr, came := holding(t)
	d := newDesk(t, addr)
	d.on(func() {
		for range 101 {
			d.exchange("/held").startNow()
		}
	})
	got := map[int]int{}
	for range 101 {
		got[<-came]++
	}
	if max(got[1], got[2]) != 100 || len(got) != 2 {
		t.Errorf("requests by connection: %v", got)
	}
}

// A refused stream overrides the limit in SETTINGS.
func TestRefusedStreamLowersTheStreamLimit(t *testing.T) {
	t.Parallel()
	came := make(chan int, 10)
	addr, _ := l7test.NewFrameServer(t, func(s *l7test.FrameServer) {
		for n := 1; ; n++ {
			id, _ := s.Request()
			if id == 0 {
				return
			}
			if s.N == 1 && n == 3 {
				_ = s.WriteRSTStream(id, xhttp2.ErrCodeRefusedStream)
				continue
			}
			came <- s.N
		}
	}, concurrent(100))
	d := newDesk(t, addr)
	first, second, third := d.exchange("/"), d.exchange("/"), d.exchange("/")
	first.start().wants("connected, own true")
	for _, e := range []*exchange{second, third} {
		<-came
		e.start()
	}
	third.wants("backend refuses the stream")
	fourth := d.exchange("/").start()
	fourth.wants("connected, own true")
	if n := <-came; n != 2 || fourth.reused {
		t.Errorf("the next came on connection %d", n)
	}
}

func TestEachBackendTargetHasItsConnection(t *testing.T) {
	t.Parallel()
	ways := map[string]func(to *dial.Target){
		"name":    func(to *dial.Target) { to.Options.Security.ServerName = "b.test" },
		"source":  func(to *dial.Target) { to.Options.Source = netip.MustParseAddr("127.0.0.2") },
		"backend": func(to *dial.Target) { to.ID = 2 },
	}
	if os.Getuid() == 0 {
		ways["mark"] = func(to *dial.Target) { to.Options.Mark = 7 }
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			addr, came := holding(t)
			d := newDesk(t, addr)
			edit := func(to *dial.Target, _ *backend.Ask) { way(to) }
			for _, c := range []struct {
				way  []func(*dial.Target, *backend.Ask)
				want int
			}{{nil, 1}, {[]func(*dial.Target, *backend.Ask){edit}, 2}, {nil, 1}, {[]func(*dial.Target, *backend.Ask){edit}, 2}} {
				d.exchange("/held").start(c.way...)
				if got := <-came; got != c.want {
					t.Errorf("came on connection %d, want %d", got, c.want)
				}
			}
		})
	}
}
