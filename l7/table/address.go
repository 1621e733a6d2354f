package table

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

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
