package proxy

// outcome is what is done with an exchange.
type outcome uint8

const (
	outcomeNone     outcome = iota // no service matches
	outcomeForward                 // the service's backends serve it
	outcomeRedirect                // the service redirects it
)

// decision is what decide found.
type decision struct {
	service *service
	outcome outcome
}

// decide says which service takes an exchange and how. It is a pure function
// of the table and the head.
func decide(f *farmTable, host, path []byte) decision {
	i := f.routes.Match(host, path)
	if i < 0 {
		return decision{}
	}
	s := &f.services[i]
	if s.target != nil {
		return decision{s, outcomeRedirect}
	}
	return decision{s, outcomeForward}
}
