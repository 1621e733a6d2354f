package lint

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// logins reports a service whose backends demand NTLM or Negotiate logins while clients or
// backends use HTTP/2, which does not support them.
func (l *look) logins(f *farm.Farm, s *farm.Service) {
	asked := uint64(0)
	for i := range s.Backends {
		asked += l.evidence.Logins(s.Backends[i].ID)
	}
	if asked == 0 {
		return
	}
	one := Finding{Code: ConnectionLogin, Farm: f.Name, Service: s.Name,
		Evidence: fmt.Sprintf("%d responses of its backends with status 401 asked for NTLM or Negotiate", asked)}
	switch tls := f.ListenerTLS(); {
	case s.Multiplexed():
		one.Severity, one.Field = Warning, "backendprotocol"
		one.Message = fmt.Sprintf("logins of service %s by NTLM or Negotiate fail: they log in a connection, and requests share those of HTTP/2", s.Name)
		one.Advice = fmt.Sprintf("speak HTTP/1.1 to the backends (sluice service set %s %s backendprotocol=http1)", f.Name, s.Name)
	case tls != nil && !tls.DisableHTTP2:
		one.Severity, one.Field = Info, "disable_http2"
		one.Message = fmt.Sprintf("clients of HTTP/2 are sent back to HTTP/1.1 for each login of service %s by NTLM or Negotiate; some programs do not go", s.Name)
		one.Advice = fmt.Sprintf("nothing for browsers and curl; for others offer HTTP/1.1 only (sluice farm set %s disable_http2=true)", f.Name)
	default:
		return
	}
	l.add(one)
}
