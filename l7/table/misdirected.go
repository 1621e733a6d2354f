package table

import (
	"bytes"
	"unsafe"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/refused"
)

// refusedMisdirected tells a client to come back on another connection
// (RFC 9110, section 15.5.20).
var refusedMisdirected = refused.Because(refused.BadHost, 421, "host of another certificate than the connection's")

// misdirected reports whether a request of a strict farm came on a connection
// that was made for a name with another certificate.
func (f *Farm) misdirected(c *loop.Conn, r *http1.Request) bool {
	if f.TLS == nil || f.TLS.names == nil || len(r.Host) == 0 {
		return false
	}
	t := c.TLS()
	if t == nil {
		return false
	}
	host := bytes.Trim(WithoutPort(r.Host), "[]")
	name := unsafe.String(unsafe.SliceData(host), len(host)) // a view: nothing keeps it
	return name != t.ServerName && !f.TLS.names.Same(t.ServerName, name)
}
