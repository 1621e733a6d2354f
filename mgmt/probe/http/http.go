// Package http checks web servers: check_http. It sends the request of the command to the
// backend alone: neither a proxy nor a redirect leads anywhere else.
package http

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

// maxBody is how much of an answer is read, in bytes.
const maxBody = 1 << 20

// check is a request and the conditions for its answer.
type check struct {
	host    probe.Host
	port    probe.Port
	version string
	virtual probe.Text // name in the Host field; "" for the name of the target
	called  probe.Port // port in the Host field; 0 for the port of the connection
	forced  probe.Text // the whole Host field; "" for virtual and called
	method  string
	url     probe.Text
	body    probe.Text
	fields  []probe.Text
	agent   probe.Text
	login   probe.Text

	secure, http2 bool
	tls           wire.TLS
	certificate   bool // only the certificate is checked

	expect       statuses
	header, text probe.Text
	pattern      *regexp.Regexp
	inverted     bool
	least, most  int // of the body, in bytes
	noBody       bool
	age          time.Duration
	redirect     string
	redirects    int
}

// Check is check_http.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{url: "/", most: -1, redirect: "ok", redirects: 15, agent: "Sluice health check"}
	port, portGiven, sni := probe.Port(80), false, false
	address, name, words := probe.Host(""), "", []string(nil)
	f.Host(&address, "I IP-address")
	f.Value("H hostname", func(v string) error { name = v; return virtualName(v) })
	f.Words(func(word string) error { words = append(words, word); return nil })
	f.Maybe("sni", func(v string) error { sni, c.tls.Name = true, probe.Text(v); return nil })
	f.Value("p port", func(v string) error {
		portGiven = true
		return port.Set(v)
	})
	f.Version(&c.version)
	c.requestFlags(f)
	c.answerFlags(f)
	f.Times()
	return func() (probe.Probe, error) {
		if err := c.words(words, &address, &name, sni); err != nil {
			return nil, err
		}
		if c.port = port; c.secure && !portGiven {
			c.port = 443
		}
		if host, called := split(name); called != "" {
			if err := c.called.Set(called); err != nil {
				return nil, err
			}
			if name = host; !portGiven {
				c.port = c.called
			}
		}
		c.host, c.virtual = address, probe.Text(name)
		if address == "" && name != "" { // -H alone sets both
			c.host = probe.Host(strings.Trim(name, "[]"))
		}
		if name == probe.HostToken {
			c.virtual = ""
		}
		return c, c.complete()
	}
}

// words takes words without a flag as the plugin does: the address, then the name. One more
// word after --sni is the name for TLS, as older commands have it.
func (c *check) words(words []string, address *probe.Host, name *string, sni bool) error {
	for _, word := range words {
		switch {
		case *address == "":
			if err := probe.HostWord(address, word); err != nil {
				return err
			}
		case *name == "":
			*name = word
			if err := virtualName(word); err != nil {
				return err
			}
		case sni && c.tls.Name == "":
			c.tls.Name = probe.Text(word)
		default:
			return errors.New("a word belongs to no flag: quote values that have blanks")
		}
	}
	return nil
}

// split returns the host and port of a name. An IPv6 address needs brackets only with a
// port.
func split(name string) (host, port string) {
	at := strings.LastIndexByte(name, ':')
	if at < 0 || strings.Contains(name[:at], ":") && !strings.HasSuffix(name[:at], "]") {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// requestFlags declares the flags for the request.
func (c *check) requestFlags(f *probe.Flags) {
	f.Path(&c.url, "u url uri")
	f.Value("j method", func(v string) error { c.method = v; return token(v, "a method") })
	f.Value("P post", func(v string) error {
		c.body = probe.Text(v)
		if c.method == "" {
			c.method = http.MethodPost
		}
		return nil
	})
	f.Value("T content-type", func(v string) error { return c.field("Content-Type: " + v) })
	f.SecretValue("k header", ":", c.field)
	f.Text(&c.agent, "A useragent")
	f.SecretAfter(&c.login, ":", "a authorization")
	f.Maybe("S ssl", func(v string) error { c.secure = true; return c.tls.Version(v) })
	f.Bool(&c.http2, "http2")
	f.Bool(&c.tls.Verify, "verify verify-cert")
	f.Value("C certificate", func(v string) error {
		c.secure, c.certificate = true, true
		return c.tls.SetDays(v)
	})
	f.Value("f onredirect", func(v string) error {
		if !slices.Contains([]string{"ok", "unknown", "warning", "critical", "follow", "sticky", "stickyport"}, v) {
			return fmt.Errorf("%q is no policy: ok, unknown, warning, critical, follow, sticky or stickyport", v)
		}
		c.redirect = v
		return nil
	})
	f.Int(&c.redirects, 0, 50, "max-redirs")
}

// answerFlags declares the flags for the conditions of the answer.
func (c *check) answerFlags(f *probe.Flags) {
	f.Value("e expect", func(v string) (err error) { c.expect, err = readStatuses(v); return err })
	f.Text(&c.text, "s string")
	f.Text(&c.header, "d header-string")
	f.Pattern(&c.pattern, "(?ms)", "r regex ereg")
	f.Pattern(&c.pattern, "(?msi)", "R eregi")
	f.Ignore("l linespan") // patterns see the whole body anyway
	f.Ignore("E extended-perfdata")
	f.Ignore("B show-body")
	f.Ignore("L link")
	f.Ignore("n nohtml")
	f.Bool(&c.inverted, "invert-regex")
	f.Bool(&c.noBody, "N no-body")
	f.Value("m pagesize", c.size)
	f.Value("M max-age", c.maxAge)
}

func (c *check) complete() error {
	switch {
	case c.http2 && c.method == http.MethodConnect:
		return errors.New("CONNECT asks a proxy, which is not what this check is for")
	case c.tls.Verify && !c.secure, c.tls.Name != "" && !c.secure:
		return errors.New("a certificate is looked at with TLS only: add -S")
	case c.inverted && c.pattern == nil:
		return errors.New("--invert-regex wants a pattern: -r")
	case c.noBody && (c.text != "" || c.pattern != nil || c.least > 0 || c.most >= 0):
		return errors.New("-N reads no body, in which something could be looked for")
	}
	if c.method == "" {
		c.method = http.MethodGet
	}
	return nil
}

func (c *check) field(v string) error {
	name, value, found := strings.Cut(v, ":")
	if !found || token(name, "a name") != nil {
		return errors.New("a field is written 'Name: value'")
	}
	if strings.EqualFold(name, "Host") {
		c.forced = probe.Text(strings.TrimSpace(value))
		return virtualName(string(c.forced))
	}
	c.fields = append(c.fields, probe.Text(name+":"+strings.TrimSpace(value)))
	return nil
}

// size reads 100:2000, 100, or 100: (bytes).
func (c *check) size(v string) error {
	from, to, both := strings.Cut(v, ":")
	n, err := strconv.Atoi(from)
	most := -1
	if err == nil && both && to != "" {
		most, err = strconv.Atoi(to)
	}
	if err != nil || n < 0 || n > maxBody || most > maxBody || most >= 0 && most < n {
		return fmt.Errorf("%q is no size: least, or least:most, in bytes, up to %d", v, maxBody)
	}
	c.least, c.most = n, most
	return nil
}

// maxAge reads 90, 10m, 3h or 2d.
func (c *check) maxAge(v string) error {
	unit := time.Second
	number := strings.TrimRight(v, "smhd")
	switch strings.TrimPrefix(v, number) {
	case "m":
		unit = time.Minute
	case "h":
		unit = time.Hour
	case "d":
		unit = 24 * time.Hour
	case "", "s":
	default:
		number = ""
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 1e6 {
		return fmt.Errorf("%q is no age: seconds, or a number with m, h or d", v)
	}
	c.age = time.Duration(n) * unit
	return nil
}

// virtualName accepts valid values of a Host field.
func virtualName(v string) error {
	if v == "" || strings.ContainsAny(v, " /?#@\\\"<>") {
		return fmt.Errorf("%q is no host", v)
	}
	return nil
}

func token(v, what string) error {
	plain := v != ""
	for i := range len(v) {
		c := v[i]
		plain = plain && (c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z')
	}
	if !plain {
		return fmt.Errorf("%q is not %s", v, what)
	}
	return nil
}
