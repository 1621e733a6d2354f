package machine_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/machine"
)

// stage is an API that can be moved.
type stage struct {
	*machine.Listener
	opened []string
	open   []net.Listener
	refuse error
	broken error // the error of every certificate
}

func newStage(t *testing.T, now string) *stage {
	t.Helper()
	s := &stage{}
	addr := netip.MustParseAddrPort
	s.Listener = machine.NewListener(machine.ListenerOptions{
		Start: addr("127.0.0.1:444"), Now: addr(now),
		Open: func(_ context.Context, address string) (net.Listener, error) {
			s.opened = append(s.opened, address)
			if s.refuse != nil {
				return nil, s.refuse
			}
			at := addr("127.0.0.1:444")
			if address != "" {
				at = addr(address)
			}
			return fixed{at: net.TCPAddrFromAddrPort(at)}, nil
		},
		Move: func(_ context.Context, l net.Listener) error { s.open = append(s.open, l); return nil },
		Certificate: func(name string) (*tls.Certificate, error) {
			return &tls.Certificate{OCSPStaple: []byte(name)}, s.broken
		},
		Prefixes: func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")} },
		Listeners: func() ([]apply.Listener, error) {
			return []apply.Listener{{Addr: addr("127.0.0.1:444")}, {Addr: addr("192.0.2.7:80")}, {Addr: addr("[::]:22")}, {UDP: true, Addr: addr("0.0.0.0:53")}}, nil
		},
	})
	return s
}

// fixed is a listener without connections.
type fixed struct {
	net.Listener
	at net.Addr
}

func (f fixed) Addr() net.Addr { return f.at }

func api(ip string, port uint16) *farm.System {
	s := &farm.System{API: farm.Interface{Port: port}}
	if ip != "" {
		s.API.IP = netip.MustParseAddr(ip)
	}
	return s
}

func TestListenerFollowsItsSetting(t *testing.T) {
	s := newStage(t, "127.0.0.1:444")
	for _, c := range []struct {
		to     *farm.System
		opened string // "-": nothing
		now    string
	}{
		{api("", 0), "-", "127.0.0.1:444"}, {api("", 444), "-", "127.0.0.1:444"}, {api("", 8443), "127.0.0.1:8443", "127.0.0.1:8443"}, {api("", 8443), "-", "127.0.0.1:8443"},
		{api("192.0.2.7", 8443), "192.0.2.7:8443", "192.0.2.7:8443"}, {api("::", 8443), "[::]:8443", "[::]:8443"}, {api("0.0.0.0", 8443), "0.0.0.0:8443", "0.0.0.0:8443"}, {api("", 0), "", "127.0.0.1:444"},
	} {
		before := len(s.opened)
		if problems := s.Settle(t.Context(), c.to); len(problems) != 0 {
			t.Errorf("%+v: %v", c.to.API, problems)
		}
		opened := "-"
		if len(s.opened) > before {
			opened = s.opened[before]
		}
		if opened != c.opened || s.Address().String() != c.now || len(s.open) != len(s.opened) {
			t.Errorf("%+v: opened %s, now %s; want %s, %s", c.to.API, opened, s.Address(), c.opened, c.now)
		}
	}
	if s.Start().String() != "127.0.0.1:444" {
		t.Error(s.Start())
	}
}

// An earlier process may have moved it.
func TestMovedListenerStays(t *testing.T) {
	s := newStage(t, "127.0.0.1:8443")
	if s.Settle(t.Context(), api("", 8443)); len(s.opened) != 0 {
		t.Errorf("opened %q", s.opened)
	}
	if s.Settle(t.Context(), api("", 0)); len(s.opened) != 1 || s.Address().Port() != 444 {
		t.Errorf("opened %q, now %s", s.opened, s.Address())
	}
}

func TestFailedListenerChangeKeepsTheOldOne(t *testing.T) {
	s := newStage(t, "127.0.0.1:444")
	s.refuse = errors.New("not permitted")
	if problems := s.Settle(t.Context(), api("", 80)); problems["http"] != "not permitted; it stays on 127.0.0.1:444" || s.Address().Port() != 444 || len(s.open) != 0 {
		t.Errorf("%v, now %s", problems, s.Address())
	}
	s.refuse = nil
	if problems := s.Settle(t.Context(), api("", 80)); len(problems) != 0 || s.Address().Port() != 80 {
		t.Errorf("tried again: %v", problems)
	}
}

func TestCertificateFollowsItsSetting(t *testing.T) {
	s := newStage(t, "127.0.0.1:444")
	if s.Chosen() != nil {
		t.Error("one is chosen before")
	}
	with := &farm.System{API: farm.Interface{Certificate: "gui.pem"}}
	if problems := s.Settle(t.Context(), with); len(problems) != 0 || s.Chosen() == nil || string(s.Chosen().OCSPStaple) != "gui.pem" {
		t.Errorf("%v %v", problems, s.Chosen())
	}
	s.broken = errors.New("it is a CSR")
	if problems := s.Settle(t.Context(), with); problems["http"] != "it is a CSR" || s.Chosen() != nil {
		t.Errorf("%v %v", problems, s.Chosen())
	}
	s.broken = nil
	if s.Settle(t.Context(), &farm.System{}); s.Chosen() != nil {
		t.Error("none is set, and one chosen")
	}
}

func TestUnreachableListenerIsRefused(t *testing.T) {
	s := newStage(t, "127.0.0.1:444")
	for _, c := range []struct {
		to   *farm.System
		want string
	}{
		{api("", 8443), ""}, {api("192.0.2.7", 0), ""}, {api("::", 0), ""}, {api("::", 53), ""}, {api("127.0.0.2", 80), ""},
		{api("192.0.2.8", 0), "system http: ip must be an address of this machine or *, got 192.0.2.8"},
		{api("192.0.2.7", 80), "system http: ip and port must be free, got 192.0.2.7:80: another program listens on tcp 192.0.2.7:80"},
		{api("0.0.0.0", 80), "system http: ip and port must be free"}, {api("::", 80), "system http: ip and port must be free"},
		{api("", 22), "system http: ip and port must be free, got 127.0.0.1:22: another program listens on tcp port 22 of every address"},
	} {
		err := s.Check(t.Context(), &farm.System{}, c.to)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %s", c.to.API, err, c.want)
		}
	}
	if err := s.Check(t.Context(), api("192.0.2.8", 0), api("192.0.2.8", 0)); err != nil {
		t.Errorf("without a change: %v", err)
	}
}
