package accesslog

import (
	"strings"
)

// Flags describe an exchange.
type Flags uint32

// The first three flags describe the record, the others the exchange.
const (
	Logged  Flags = 1 << iota // for the farm's log: selected by sampling
	Watched                   // a user may be watching the farm
	Cut                       // a text was truncated

	Retried          // there was more than one attempt to send it
	Reused           // used an open backend connection
	Session          // a persistence session selected the backend
	Redirected       // the response was a redirect
	Tunnel           // became a tunnel
	AbortedByClient  // the client left before the end
	AbortedByBackend // the backend cut it or did not finish
	AbortedHere      // aborted by us: client timeout, cut or stop
	Own              // the response was generated here, not by a backend
	Truncated        // the DNS response was truncated: the client retries by TCP
)

// flagNames are the names of all flags except Logged and Watched.
var flagNames = [...]struct {
	flag Flags
	name string
}{
	{Retried, "retried"}, {Reused, "reused"}, {Session, "session"}, {Redirected, "redirected"}, {Tunnel, "tunnel"},
	{AbortedByClient, "aborted-by-client"}, {AbortedByBackend, "aborted-by-backend"}, {AbortedHere, "aborted-here"},
	{Own, "own-answer"}, {Truncated, "truncated"}, {Cut, "cut"},
}

// Has reports whether all flags of other are set.
func (f Flags) Has(other Flags) bool { return f&other == other }

// Each calls use with the name of every set flag except Logged and Watched.
func (f Flags) Each(use func(name string)) {
	for i := range flagNames {
		if f&flagNames[i].flag != 0 {
			use(flagNames[i].name)
		}
	}
}

// String returns the names, separated by commas.
func (f Flags) String() string {
	var out []string
	f.Each(func(name string) { out = append(out, name) })
	return strings.Join(out, ",")
}

// Proto is the client's protocol.
type Proto uint8

// The protocols. The zero value means that there was no valid request.
const (
	ProtoNone Proto = iota
	ProtoHTTP10
	ProtoHTTP11
	ProtoHTTP2
	ProtoTCP // of a connection that is not parsed
	ProtoUDP
	ProtoDNS // of a query by UDP
	ProtoDNSTCP
	ProtoDNSTLS
	ProtoDNSHTTPS
)

var protoNames = [...]string{"", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "TCP", "UDP", "DNS/UDP", "DNS/TCP", "DNS/TLS", "DNS/HTTPS"}

// String returns the name of the protocol in access logs, empty for none.
func (p Proto) String() string {
	if int(p) < len(protoNames) {
		return protoNames[p]
	}
	return ""
}

// IsDNS reports whether the record is of a DNS query. Its Host is then the name in wire
// format, its Method the type (two bytes, big-endian) and its Status the response code.
func (p Proto) IsDNS() bool { return p >= ProtoDNS && p <= ProtoDNSHTTPS }

// Why is the reason for the choice of a backend.
type Why uint8

// The reasons. The zero value means that no backend was chosen.
const (
	WhyNone      Why = iota
	WhyAlgorithm     // the service's algorithm
	WhySession       // the client's persistence session
	WhyCookie        // the cookie set by the service
	WhyPin           // the backend of the client's connection
	WhyAttempt       // none was usable: a backend that is down was tried
)

var whyNames = [...]string{"", "algorithm", "session", "cookie", "pin", "attempt"}

// String returns the name of the reason in logs, empty for none.
func (w Why) String() string {
	if int(w) < len(whyNames) {
		return whyNames[w]
	}
	return ""
}
