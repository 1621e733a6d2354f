package table

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
)

// Backend is one compiled backend.
type Backend struct {
	ID     uint32 // its stable number
	Number int    // what the API calls it
	Alias  string // what the operator calls it; empty without one
	Origin string // address:port
	Named  string // host:port by the name the operator wrote, or Origin
	host   []byte // the same as a Host

	Target  dial.Target    // where exchanges connect to
	Reach   revive.Backend // how it is tried again when it is down
	Timeout int64          // for its answer to begin, in nanoseconds

	Mode    farm.Maintenance
	Load    *balance.Load // what it has to do, over all tables
	statics []string      // its static sessions

	SetCookie []byte // the line that keeps a client here; nil without a cookie
	ServedBy  []byte // the line that names the backend to clients; nil without one
}

func newBackend(f *farm.Farm, s *farm.Service, b *farm.Backend) Backend {
	kind, name := marks.Of(f, b), nameOf(b)
	to := dial.Target{
		ID: b.ID, Addr: b.AddrPort(), Timeout: nanos(cmp.Or(b.ConnectTimeout, f.HTTP.ConnectTimeout)),
		Options: loop.DialOptions{Source: b.Source, Mark: kind.Mark}, Announce: announcing(s),
	}
	return Backend{
		ID: b.ID, Alias: b.Alias, Origin: b.AddrPort().String(), Named: name, host: hostOf(name, s.TLS != nil),
		Target: to, Reach: reachOf(f, s, b, &to), Timeout: nanos(cmp.Or(b.Timeout, f.HTTP.ResponseTimeout)),
		Mode: b.Maintenance, statics: b.Sessions,
	}
}

// announcing is how the backends of a service are told of clients.
func announcing(s *farm.Service) proxyproto.Version {
	if s.Multiplexed() { // exchanges of all clients share connections
		return 0
	}
	return proxyproto.VersionOf(s.ProxyOut)
}

// protocols are those the backends of a service are offered with TLS.
func protocols(s *farm.Service) []string {
	if s.Multiplexed() {
		return []string{"h2"}
	}
	return nil
}

// reachOf is how a backend is tried again when it is down: as exchanges connect
// to it, without TLS.
func reachOf(f *farm.Farm, s *farm.Service, b *farm.Backend, to *dial.Target) revive.Backend {
	var t farm.BackendTLS
	if s.TLS != nil {
		t = *s.TLS
	}
	probing := to.Options
	probing.Preface = to.Announce.Own() // a backend that wants a header would report its lack
	return revive.Backend{
		ID: b.ID, Addr: to.Addr, Options: probing, Owner: []any{"farm", f.Name, "service", s.Name}, Alias: b.Alias,
		Timeout: time.Duration(to.Timeout), Every: time.Duration(nanos(f.HTTP.ResurrectTime)),
		Reach: fmt.Sprintf("%s from %s with mark %d, announced %d, TLS %t %+v %s",
			to.Addr, b.Source, to.Options.Mark, to.Announce, s.TLS != nil, t, s.BackendProtocol),
	}
}

// reachSecurely has backends that are down tried again with a handshake, where
// that is the same for all exchanges.
func (sv *Service) reachSecurely() {
	if !sv.TLS.Fixed() {
		return
	}
	for i := range sv.Backends {
		b := &sv.Backends[i]
		b.Reach.Options.Security.Config = sv.TLS.Config(b.ID, "")
	}
}

// nameOf is host:port of a backend by the name the operator wrote, or by its
// address.
func nameOf(b *farm.Backend) string {
	if _, err := netip.ParseAddr(b.Host); err == nil || b.Host == "" {
		return b.AddrPort().String()
	}
	name := net.JoinHostPort(strings.ToLower(strings.TrimSuffix(b.Host, ".")), strconv.Itoa(int(b.Port)))
	if !http1.ValidHost([]byte(name)) {
		return b.AddrPort().String()
	}
	return name
}

// hostOf is how a backend of the given name is called as a Host: without the
// scheme's own port.
func hostOf(name string, tls bool) []byte {
	if tls {
		return []byte(strings.TrimSuffix(name, ":443"))
	}
	return []byte(strings.TrimSuffix(name, ":80"))
}

// newServedBy gives each backend the field line that tells clients who served
// them, and the name to look for in answers; empty when nobody is to know.
func newServedBy(s *farm.Service, backends []Backend) (name string, err error) {
	if s.ServedBy == "" {
		return "", nil
	}
	if !http1.Token([]byte(s.ServedBy)) || http1.Fixed([]byte(s.ServedBy)) {
		return "", fmt.Errorf("%q cannot be the name of a field that is added", s.ServedBy)
	}
	for i := range backends {
		b := &backends[i]
		v, ok := http1.CheckValue([]byte(strings.TrimSpace(cmp.Or(b.Alias, b.Origin))))
		if !ok {
			return "", fmt.Errorf("the alias of backend %d is no field value", i)
		}
		b.ServedBy = http1.AppendField(nil, s.ServedBy, v)
	}
	return strings.ToLower(s.ServedBy), nil
}
