package load

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/witness"
)

// Spec describes a load. The zero value is invalid: see Check.
type Spec struct {
	Target      netip.AddrPort `json:"target"` // IPv4
	Connections int            `json:"connections"`
	Method      string         `json:"method"`
	Path        string         `json:"path"`
	Host        string         `json:"host"`
	// Body is the size of each request body in bytes; 0 means none.
	Body int `json:"body,omitempty"`
	// Expect is the exact length of a correct response body in bytes.
	Expect int `json:"expect"`
	// New opens a connection for each request, with "Connection: close".
	New bool `json:"new,omitempty"`
	// TLS makes the client use TLS; nil: plain connections.
	TLS *TLS `json:"tls,omitempty"`
	// Window replaces the load by datagrams of Body bytes, with that many in flight on
	// each of Connections sockets; 0: connections. Of the other fields only Target,
	// Duration and Patience apply then.
	Window int `json:"window,omitempty"`
	// Cookie is the name of a cookie that each connection sends with its own value.
	// LearnCookie is the name of a cookie that the first response on each connection must
	// set, and that later requests send. Empty sends none.
	Cookie      string `json:"cookie,omitempty"`
	LearnCookie string `json:"learn_cookie,omitempty"`
	// Require is a header line ("Name: value", case-insensitive) that every response must
	// have.
	Require string `json:"require,omitempty"`
	// Parallel bounds the exchanges in flight during the warm-up, so that 9,000
	// connections need fewer backend connections; 0 means no bound.
	Parallel int `json:"parallel,omitempty"`
	// Rate is the number of requests per second over all connections, due at fixed times;
	// 0 means as fast as responses arrive.
	Rate     int           `json:"rate,omitempty"`
	Duration time.Duration `json:"duration"`
	// Patience bounds the warm-up and the wait for the last responses.
	Patience time.Duration `json:"patience"`
}

// Check returns an error if the spec is invalid.
func (s *Spec) Check() error {
	switch {
	case !s.Target.IsValid() || !s.Target.Addr().Is4():
		return fmt.Errorf("target %s is not an IPv4 address with a port", s.Target)
	case s.Window > 0 && s.Body >= 8 && s.Connections > 0:
		return nil
	case s.Window > 0:
		return errors.New("datagrams must have 8 bytes or more")
	case s.Connections < 1:
		return errors.New("connections must be at least 1")
	case s.Method == "" || s.Path == "" || s.Host == "":
		return errors.New("method, path and host must be given")
	case s.Patience <= 0:
		return errors.New("patience must be positive")
	case s.New && s.Rate > 0:
		return errors.New("a rate with a new connection per request is not supported")
	case s.TLS != nil && len(s.TLS.Leaf) == 0:
		return errors.New("the certificate of the server must be given")
	case s.Cookie != "" && s.LearnCookie != "":
		return errors.New("a cookie is either made up or learned")
	}
	return nil
}

// State is the line a load process prints after its warm-up.
type State struct {
	Ready bool `json:"ready"`
	// Error is the reason of a failed warm-up; valid if Ready is false.
	Error string `json:"error,omitempty"`
}

// Result is the result of one measured slice.
type Result struct {
	Requests uint64 `json:"requests"` // correct responses
	Errors   uint64 `json:"errors"`
	// Causes counts the errors by kind.
	Causes map[string]uint64 `json:"causes,omitempty"`
	// Elapsed is the time from the first request to the last response.
	Elapsed   time.Duration  `json:"elapsed"`
	BytesIn   uint64         `json:"bytes_in"` // bodies only
	Connected uint64         `json:"connected"`
	Latency   measure.Sparse `json:"latency"`
	// Samples are the individual requests; only with Spec.Rate.
	Samples []witness.Sample `json:"samples,omitempty"`
}
