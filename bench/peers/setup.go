package peers

import (
	"bytes"
	"embed"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/identity"
)

// Setup is the configuration of a contestant for one case.
type Setup struct {
	Port    uint16         // the contestant listens on 127.0.0.1:Port
	Control uint16         // a second port, for a contestant that has an API
	Backend netip.AddrPort // target of all services
	Set     cases.Rules
	// Equal gives HAProxy and nginx the rules and headers that Sluice always has.
	Equal      bool
	BufferSize int // HAProxy's tune.bufsize in bytes; 0: its default
	// Relay makes the contestant relay bytes without parsing. With BufferSize the peers
	// are tuned for bulk data.
	Relay bool
	// Datagrams selects UDP instead of connections; valid with Relay.
	Datagrams bool
	// Secure, if set, makes clients use TLS with Identity; HTTP2 also offers HTTP/2.
	Secure   cases.Secure
	Identity *identity.Identity
	HTTP2    bool
	// Feature is an additional function of the contestant.
	Feature cases.Feature
	// Default keeps the default number of loops, threads or workers.
	Default bool
	// Clients is the maximum number of client connections.
	Clients     int
	Descriptors uint64 // RLIMIT_NOFILE of the contestant
	Dir         string // its own directory for files and state
	CPU         int    // the CPU it is pinned to; negative: none
}

// Services lists the rules, in matching order.
func (s Setup) Services() []cases.Rule { return s.Set.Table() }

// Tickets reports whether sessions may be resumed. If not, the peers neither issue
// tickets nor cache sessions.
func (s Setup) Tickets() bool { return s.Secure == cases.Resumed }

// Cookies reports whether a cookie keeps clients on their backend, together with two
// header rules.
func (s Setup) Cookies() bool { return s.Feature == cases.Cookie || s.Feature == cases.CookieInsert }

// Field splits a header line of a rule into name and value.
func (Setup) Field(line string) []string { return strings.SplitN(line, ": ", 2) }

// RequestHeader returns the request header of the cookie cases.
func (Setup) RequestHeader() string  { return cases.RequestHeader }
func (Setup) ResponseHeader() string { return cases.ResponseHeader }
func (Setup) CookieName() string     { return cases.CookieName }

// MaxConn returns HAProxy's maxconn. Each connection may need two descriptors, and
// HAProxy does not start if they exceed the limit, unless configured otherwise.
func (s Setup) MaxConn() int {
	within := int(s.Descriptors)/2 - 100
	return max(min(9900, within), s.Clients+500)
}

// StrictLimits is false if the clients need more descriptors than HAProxy would reserve.
// Waiting clients have no backend connection, so HAProxy may start with a lower limit.
func (s Setup) StrictLimits() bool { return s.MaxConn()*2+100 <= int(s.Descriptors) }

// RelayConn returns HAProxy's maxconn for a relay. With splice each connection may also
// need a pipe per direction.
func (s Setup) RelayConn() int {
	if s.BufferSize == 0 {
		return s.MaxConn()
	}
	return min(4000, int(s.Descriptors)/6)
}

// Connections returns nginx's worker_connections.
func (s Setup) Connections() int { return int(s.Descriptors) - 100 }

//go:embed *.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"vhost":    func(set cases.Rules, r cases.Rule) string { return set.VHost(r) },
	"url":      func(set cases.Rules, r cases.Rule) string { return set.URL(r) },
	"unanchor": func(s string) string { return strings.TrimSuffix(s, "$") },
	"uncaret":  func(s string) string { return strings.TrimPrefix(s, "^") },
}).ParseFS(files, "*.tmpl"))

// Render executes a template, named like its file without ".tmpl". For a relay, the name
// has the prefix "relay-".
func Render(name string, s Setup) ([]byte, error) {
	if s.Relay {
		name = "relay-" + name
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name+".tmpl", s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// write renders a template into the contestant's directory.
func write(name, file string, s Setup) (string, error) {
	text, err := Render(name, s)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, file)
	return path, os.WriteFile(path, text, 0o644)
}
