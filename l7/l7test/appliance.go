package l7test

import (
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/proxy"
)

// Appliance is an engine that serves one farm, number 1.
type Appliance struct {
	Engine  *proxy.Engine
	Board   *health.Board
	Segment *stats.Segment
	Records *accesslog.Segment // what is recorded of exchanges
	Farm    farm.Farm
	Log     Log // what the engine says
	// Certificates and Authorities are what the farm may refer to.
	Certificates []farm.Certificate
	Authorities  []farm.Authority
	t            testing.TB
	loops        []*loop.Loop
	files        map[string][]*os.File
	gen          uint64
}

// New starts an appliance of the given number of loops, which end with the
// test. It serves nothing until Serve.
func New(t testing.TB, loops int) *Appliance {
	t.Helper()
	a := &Appliance{t: t, files: map[string][]*os.File{}}
	var err error
	if a.Board, err = health.OpenBoard(make([]byte, health.BoardSize)); err != nil {
		t.Fatal(err)
	}
	if a.Segment, err = stats.CreateSegment(memory(t, stats.SegmentSize), loops); err != nil {
		t.Fatal(err)
	}
	for i := range loops {
		c := a.Segment.Shard(i).Loop()
		l, err := loop.New(&loop.Counters{Events: &c.Events, Accepted: &c.Accepted, AcceptErrors: &c.AcceptErrors, Panics: &c.Panics})
		if err != nil {
			t.Fatal(err)
		}
		a.loops = append(a.loops, l)
		go func() {
			if err := l.Run(); err != nil {
				t.Error(err)
			}
		}()
	}
	a.Engine = proxy.New(a.loops, a.Board, a.Segment, slog.New(slog.NewTextHandler(&a.Log, nil)))
	if a.Records, err = accesslog.OpenSegment(memory(t, accesslog.SegmentSize)); err != nil {
		t.Fatal(err)
	}
	a.Engine.Record(a.Records, a.Records.Writers(len(a.loops), nobody{}))
	t.Cleanup(a.close)
	return a
}

// nobody is woken: tests look for themselves.
type nobody struct{}

func (nobody) Wake() {}

func (a *Appliance) close() {
	a.Engine.Close()
	for _, l := range a.loops {
		l.Stop()
	}
	var panics uint64
	for _, c := range a.Segment.SumLoops() {
		panics += c.Panics
	}
	if panics > 0 {
		a.t.Errorf("%d panics were contained", panics)
	}
	for _, files := range a.files {
		for _, f := range files {
			_ = f.Close()
		}
	}
}

// Serve publishes a farm with the given services on a free loopback port and
// returns its address. edit may change the directives first.
func (a *Appliance) Serve(edit func(h *farm.HTTP), services ...farm.Service) string {
	a.t.Helper()
	if a.Farm.ID == 0 {
		a.Farm = farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), HTTP: farm.DefaultHTTP()}
		a.Farm.VPort = a.listen()
	}
	a.Farm.HTTP.Services = services
	if edit != nil {
		edit(a.Farm.HTTP)
	}
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}, Certificates: a.Certificates, Authorities: a.Authorities})
	return a.Farm.AddrPort().String()
}

// Publish publishes a whole configuration and fails the test if it is refused.
func (a *Appliance) Publish(cfg farm.Config) {
	a.t.Helper()
	a.gen++
	problems, err := a.Engine.Publish(a.gen, &cfg, a.files)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range problems {
		a.t.Fatal(p)
	}
}

// listen opens one socket per loop on a port of the kernel's choice.
func (a *Appliance) listen() uint16 {
	a.t.Helper()
	addr := "127.0.0.1:0"
	var files []*os.File
	for range a.loops {
		ln, err := reusable.Listen(a.t.Context(), "tcp", addr)
		if err != nil {
			a.t.Fatal(err)
		}
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			a.t.Fatal(err)
		}
		addr = ln.Addr().String()
		_ = ln.Close()
		files = append(files, f)
	}
	ap := netip.MustParseAddrPort(addr)
	a.files[farm.Listener{Transport: farm.L4TCP, Addr: ap}.Key()] = files
	return ap.Port()
}

// Service is a service with backends at the given addresses, numbered from 1.
func Service(name string, addrs ...string) farm.Service {
	s := farm.Service{ID: 1, Name: name}
	for i, addr := range addrs {
		ap := netip.MustParseAddrPort(addr)
		s.Backends = append(s.Backends, farm.Backend{
			ID: uint32(i + 1), Host: ap.Addr().String(), Addr: ap.Addr(), Port: ap.Port(),
		})
	}
	return s
}

// Eventually waits until ok holds, at most five seconds.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within five seconds: %s", what)
}
