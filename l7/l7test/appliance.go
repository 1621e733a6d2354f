package l7test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/proxy"
)

// Appliance is an engine that serves one farm, number 1.
type Appliance struct {
	*enginetest.House
	Engine  *proxy.Engine
	Records *accesslog.Segment // records of exchanges
	Farm    farm.Farm
	// Certificates and Authorities may be referenced by the farm.
	Certificates []farm.Certificate
	Authorities  []farm.Authority
	t            testing.TB
	gen          uint64
}

// New starts an appliance with that many loops, which stop with the test. It serves nothing
// until Serve.
func New(t testing.TB, loops int) *Appliance {
	t.Helper()
	h := enginetest.New(t, loops)
	a := &Appliance{House: h, Engine: proxy.New(h.Loops, h.Health, h.Segment, h.Logger()), t: t}
	h.End(t, a.Engine.Close)
	var err error
	if a.Records, err = accesslog.OpenSegment(h.Memory(t, accesslog.SegmentSize)); err != nil {
		t.Fatal(err)
	}
	a.Engine.Record(a.Records, a.Records.Writers(len(a.Loops), nobody{}))
	return a
}

// nobody ignores wake-ups, because tests poll.
type nobody struct{}

func (nobody) Wake() {}

// Serve publishes a farm with the given services on a free loopback port and
// returns its address. edit may change the settings first.
func (a *Appliance) Serve(edit func(h *farm.HTTP), services ...farm.Service) string {
	a.t.Helper()
	if a.Farm.ID == 0 {
		a.Farm = farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), HTTP: farm.DefaultHTTP()}
		a.Farm.VPort = a.Listen(a.t, "127.0.0.1").Port()
	}
	a.Farm.HTTP.Services = services
	if edit != nil {
		edit(a.Farm.HTTP)
	}
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}, Certificates: a.Certificates, Authorities: a.Authorities})
	return a.Farm.AddrPort().String()
}

// HTTPS adds certificates to the appliance. It returns an edit that makes the farm use them
// for TLS.
func (a *Appliance) HTTPS(certificates ...farm.Certificate) func(*farm.HTTP) {
	t := &farm.TLS{}
	for _, c := range certificates {
		t.Certificates = append(t.Certificates, c.Name)
	}
	a.Certificates = certificates
	return func(h *farm.HTTP) { h.TLS = t }
}

// Publish publishes a configuration and fails the test if it is refused.
func (a *Appliance) Publish(cfg farm.Config) {
	a.t.Helper()
	a.gen++
	problems, err := a.Engine.Publish(a.gen, cfg.Clone(), a.Files) // tests modify theirs, and engines recognise farms by address
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range problems {
		a.t.Fatal(p)
	}
}

// Service returns a service with backends at the given addresses, numbered from 1.
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
	enginetest.Eventually(t, what, ok)
}

// Queued waits until n exchanges are queued.
func Queued(t testing.TB, a *Appliance, n uint64) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d wait", n), func() bool { return a.Segment.SumFarm(1).Queued == n })
}
