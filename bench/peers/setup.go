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

// Setup is what a contestant is configured with for one case.
type Setup struct {
	Port    uint16         // the contestant listens on 127.0.0.1:Port
	Control uint16         // a second port, for a contestant that has an API
	Backend netip.AddrPort // all services send their requests here
	Set     cases.Rules
	// Equal gives HAProxy and nginx the rules and headers Sluice always has.
	Equal      bool
	BufferSize int // HAProxy's tune.bufsize in bytes; 0: its default
	// Relay makes the contestant pass bytes on without reading them. With a
	// BufferSize the peers are set up for many bytes at once.
	Relay bool
	// Datagrams are what comes, instead of connections; valid with Relay.
	Datagrams bool
	// Secure, when set, makes clients speak TLS and see Identity; HTTP2 offers
	// them that too.
	Secure   cases.Secure
	Identity *identity.Identity
	HTTP2    bool
	// Feature is what the contestant does beside proxying.
	Feature cases.Feature
	// Default leaves it the loops, threads or workers it has by default.
	Default bool
	// Clients is the highest number of client connections the case has.
	Clients     int
	Descriptors uint64 // the limit a process of the contestant has
	Dir         string // a directory of its own, for files and state
	CPU         int    // the CPU it is pinned to; negative: none
}

// Services lists the rules, in matching order.
func (s Setup) Services() []cases.Rule { return s.Set.Table() }

// Tickets reports whether sessions may be resumed. Where they are not, neither
// peer issues tickets or keeps sessions.
func (s Setup) Tickets() bool { return s.Secure == cases.Resumed }

// Cookies reports whether a cookie keeps clients on their backend, beside which
// two header rules are in force.
func (s Setup) Cookies() bool { return s.Feature == cases.Cookie || s.Feature == cases.CookieInsert }

// Field takes a field line of a rule apart, as name and value.
func (Setup) Field(line string) []string { return strings.SplitN(line, ": ", 2) }

// RequestHeader, ResponseHeader and CookieName are what the cookie cases use.
func (Setup) RequestHeader() string  { return cases.RequestHeader }
func (Setup) ResponseHeader() string { return cases.ResponseHeader }
func (Setup) CookieName() string     { return cases.CookieName }

// MaxConn is HAProxy's maxconn: each connection may need two descriptors and
// HAProxy does not start when they exceed the limit, unless told otherwise.
func (s Setup) MaxConn() int {
	within := int(s.Descriptors)/2 - 100
	return max(min(9900, within), s.Clients+500)
}

// StrictLimits is false when the clients need more descriptors than HAProxy
// would reserve: waiting clients have no connection to the backend, so it is
// told to go on with what there is.
func (s Setup) StrictLimits() bool { return s.MaxConn()*2+100 <= int(s.Descriptors) }

// RelayConn is HAProxy's maxconn for a relay: with splice each connection may
// need a pipe each way besides.
func (s Setup) RelayConn() int {
	if s.BufferSize == 0 {
		return s.MaxConn()
	}
	return min(4000, int(s.Descriptors)/6)
}

// Modules is where nginx has the module for relays, if it is not built in.
func (Setup) Modules() string {
	const debian = "/usr/lib/nginx/modules/ngx_stream_module.so"
	if _, err := os.Stat(debian); err != nil {
		return ""
	}
	return debian
}

// Connections is nginx's worker_connections.
func (s Setup) Connections() int { return int(s.Descriptors) - 100 }

//go:embed *.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"vhost":    func(set cases.Rules, r cases.Rule) string { return set.VHost(r) },
	"url":      func(set cases.Rules, r cases.Rule) string { return set.URL(r) },
	"unanchor": func(s string) string { return strings.TrimSuffix(s, "$") },
	"uncaret":  func(s string) string { return strings.TrimPrefix(s, "^") },
}).ParseFS(files, "*.tmpl"))

// Render fills in one template, named like its file without ".tmpl"; for a
// relay it is the one with "relay-" in front.
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
