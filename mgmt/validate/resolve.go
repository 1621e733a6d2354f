package validate

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// checkResolve holds what a backend must be whose name stands for several.
func checkResolve(path string, b *farm.Backend) *Error {
	switch {
	case b.Resolve == farm.ResolveFirst:
		return nil
	case !b.Named():
		return &Error{path, "resolve", fmt.Sprintf("resolve %s is allowed only with a host name as ip, got %s; leave resolve out, or write the name", b.Resolve, b.Host)}
	case b.Resolve == farm.ResolveService && !strings.HasPrefix(b.Host, "_"):
		return &Error{path, "ip", fmt.Sprintf("ip must be the name of an SRV record with resolve srv, as _http._tcp.example.com, got %s; set resolve all for the addresses of a host", show(b.Host))}
	case len(b.Sessions) > 0 && b.Of == 0:
		return &Error{path, "sessions", fmt.Sprintf("sessions are of one server, and with resolve %s this backend stands for several; remove the static sessions, or set resolve first", b.Resolve)}
	}
	return nil
}
