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
	"github.com/sluicelb/sluice/l7/state"
)

// Backend is one compiled backend.
type Backend struct {
	ID     uint32 // stable number
	Number int    // number in the API
	Alias  string // alias given by the operator; may be empty
	Origin string // address:port
	Named  string // host:port with the configured name, or Origin
	host   []byte // Named as a Host value

	Target  dial.Target    // address for exchanges
	Reach   revive.Backend // how it is probed while down
	Timeout int64          // for the start of its response, in nanoseconds

	Mode    farm.Maintenance
	Load    *balance.Load // its load, across all tables
	Queue   *state.Queue  // exchanges of its own clients that wait for room
	statics []string      // static sessions

	SetCookie []byte // line with the persistence cookie; nil without one
	ServedBy  []byte // line that names the backend to clients; nil without one
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

// announcing returns the version of the PROXY header for backends, or 0.
func announcing(s *farm.Service) proxyproto.Version {
	if s.Multiplexed() { // clients share connections
		return 0
	}
	return proxyproto.VersionOf(s.ProxyOut)
}

// protocols returns the ALPN protocols offered to the backends of a service.
func protocols(s *farm.Service) []string {
	if s.Multiplexed() {
		return []string{"h2"}
	}
	return nil
}

// reachOf returns how a backend is probed while down: by a connect like that of exchanges,
// without TLS.
func reachOf(f *farm.Farm, s *farm.Service, b *farm.Backend, to *dial.Target) revive.Backend {
	var t farm.BackendTLS
	if s.TLS != nil {
		t = *s.TLS
	}
	probing := to.Options
	probing.Preface = to.Announce.Own() // a backend that requires a PROXY header would log its absence
	return revive.Backend{
		ID: b.ID, Addr: to.Addr, Options: probing, Owner: []any{"farm", f.Name, "service", s.Name}, Alias: b.Alias,
		Timeout: time.Duration(to.Timeout), Every: time.Duration(nanos(f.HTTP.ResurrectTime)),
		Reach: fmt.Sprintf("%s from %s with mark %d, announced %d, TLS %t %+v %s",
			to.Addr, b.Source, to.Options.Mark, to.Announce, s.TLS != nil, t, s.BackendProtocol),
	}
}

// reachSecurely adds a TLS handshake to the probes of down backends if the handshake is the
// same for all exchanges.
func (sv *Service) reachSecurely() {
	if !sv.TLS.Fixed() {
		return
	}
	for i := range sv.Backends {
		b := &sv.Backends[i]
		b.Reach.Options.Security.Config = sv.TLS.Config(b.ID, "")
	}
}

// nameOf returns host:port of a backend with its configured name, or its address.
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

// hostOf returns the Host value for a name, without the default port of the scheme.
func hostOf(name string, tls bool) []byte {
	if tls {
		return []byte(strings.TrimSuffix(name, ":443"))
	}
	return []byte(strings.TrimSuffix(name, ":80"))
}

// newServedBy sets the field line of each backend that identifies it to clients. It returns
// the field name, or "" if backends are not identified.
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
