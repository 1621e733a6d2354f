package accesslog

import (
	"strings"
)

// Flags say what happened to an exchange.
type Flags uint32

// The flags. The first three say what the record is for, the others what
// happened.
const (
	Logged  Flags = 1 << iota // the farm's log takes the record: it was chosen by sampling
	Watched                   // somebody may be watching the farm
	Cut                       // some text was longer than its bound and is cut

	Retried          // it was sent, or tried to be sent, more than once
	Reused           // it went over a backend connection that was open already
	Session          // a persistence session chose the backend
	Redirected       // a redirect was the answer
	Tunnel           // it became a tunnel
	AbortedByClient  // the client left before the end
	AbortedByBackend // the backend cut it, or did not come to its end
	AbortedHere      // we ended it: a time-out of the client, a cut, a stop
	Own              // the answer was made here, not by a backend
	Truncated        // the answer did not fit: the client asks again by TCP
)

// flagNames are what the flags are called, those that say what happened.
var flagNames = [...]struct {
	flag Flags
	name string
}{
	{Retried, "retried"}, {Reused, "reused"}, {Session, "session"}, {Redirected, "redirected"}, {Tunnel, "tunnel"},
	{AbortedByClient, "aborted-by-client"}, {AbortedByBackend, "aborted-by-backend"}, {AbortedHere, "aborted-here"},
	{Own, "own-answer"}, {Truncated, "truncated"}, {Cut, "cut"},
}

// Has reports whether all of other are set.
func (f Flags) Has(other Flags) bool { return f&other == other }

// Each calls use with the name of every flag that says what happened.
func (f Flags) Each(use func(name string)) {
	for i := range flagNames {
		if f&flagNames[i].flag != 0 {
			use(flagNames[i].name)
		}
	}
}

// String lists the names, separated by commas.
func (f Flags) String() string {
	var out []string
	f.Each(func(name string) { out = append(out, name) })
	return strings.Join(out, ",")
}

// Proto is the protocol a client spoke.
type Proto uint8

// The protocols; the zero value is none, of what was no request.
const (
	ProtoNone Proto = iota
	ProtoHTTP10
	ProtoHTTP11
	ProtoHTTP2
	ProtoTCP // of a connection that is not looked into
	ProtoUDP
	ProtoDNS // of a question, by UDP
	ProtoDNSTCP
	ProtoDNSTLS
	ProtoDNSHTTPS
)

var protoNames = [...]string{"", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "TCP", "UDP", "DNS/UDP", "DNS/TCP", "DNS/TLS", "DNS/HTTPS"}

// String is what access logs call the protocol, empty for none.
func (p Proto) String() string {
	if int(p) < len(protoNames) {
		return protoNames[p]
	}
	return ""
}

// IsDNS reports whether the record is of a question: its Host is the name as messages have
// it, its Method the type in two bytes, high one first, its Status the response code.
func (p Proto) IsDNS() bool { return p >= ProtoDNS && p <= ProtoDNSHTTPS }

// Why says how the backend of an exchange was found.
type Why uint8

// The ways; the zero value is none, of what no backend was looked for.
const (
	WhyNone      Why = iota
	WhyAlgorithm     // the service's policy
	WhySession       // the client's session
	WhyCookie        // the cookie the service sets
	WhyPin           // the connection the client keeps
	WhyAttempt       // none was usable, and it was tried though it was down
)

var whyNames = [...]string{"", "algorithm", "session", "cookie", "pin", "attempt"}

// String is what logs call it, empty for none.
func (w Why) String() string {
	if int(w) < len(whyNames) {
		return whyNames[w]
	}
	return ""
}
