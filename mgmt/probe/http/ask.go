package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &asker{check: c, network: n, to: to, say: say}
	defer a.close()
	if c.certificate {
		_, err := a.secured(ctx, a.address(""), a.authority())
		return err
	}
	where, err := url.Parse(a.scheme() + "://" + a.authority() + c.url.For(to))
	if err != nil {
		return fmt.Errorf("the address of the page is none: %w", err)
	}
	for hops := 0; ; hops++ {
		answer, err := a.get(ctx, where)
		if err != nil {
			return err
		}
		next, err := a.judge(answer, where)
		if err != nil || next == nil {
			return err
		}
		if hops >= c.redirects {
			return fmt.Errorf("more than %d redirects, the last one to %s", c.redirects, probe.Line(next.String()))
		}
		where = next
	}
}

// asker makes the requests of one check and owns their connections.
type asker struct {
	*check
	network probe.Network
	to      probe.Target
	say     probe.Say
	mu      sync.Mutex // net/http dials in a goroutine of its own
	conns   []net.Conn
	done    bool
}

func (a *asker) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	for _, c := range a.conns {
		_ = c.Close()
	}
}

func (a *asker) scheme() string {
	if a.secure {
		return "https"
	}
	return "http"
}

// authority returns the host of the request: the name in the command or of the target. As
// in the plugin, it includes the port if that is not the default one.
func (a *asker) authority() string {
	port := a.called
	if port == 0 {
		port = a.port
	}
	if port == 0 {
		port = probe.Port(a.to.Port)
	}
	name := strings.Trim(a.virtual.For(a.to), "[]")
	if name == "" {
		name = probe.ServerName(a.host, a.to)
	}
	if port == 80 && !a.secure || port == 443 && a.secure {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return net.JoinHostPort(name, strconv.Itoa(int(port)))
}

// address returns the address to connect to. It is always the backend, even after a
// redirect. The port is its port unless the redirect has another one.
func (a *asker) address(port string) string {
	if port == "" {
		return probe.Address(a.host, a.port, a.to)
	}
	return net.JoinHostPort(a.host.For(a.to), port)
}

func (a *asker) dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := wire.Open(ctx, a.network, "tcp"+a.version, address, 2*maxBody)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	a.conns = append(a.conns, c)
	a.say("connected to %s", c.RemoteAddr())
	probe.Step(ctx, "request")
	return c, nil
}

// secured connects by TLS to the server of that authority.
func (a *asker) secured(ctx context.Context, address, authority string) (net.Conn, error) {
	c, err := a.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	config := a.tls.Config(a.tlsName(authority))
	if config.NextProtos = []string{"http/1.1"}; a.http2 {
		config.NextProtos = []string{"h2"}
	}
	secured, err := a.tls.Handshake(ctx, c, config, a.say)
	if err != nil || a.certificate {
		return nil, err
	}
	probe.Step(ctx, "request")
	if a.http2 {
		return secured, nil // net/http needs to see the negotiated protocol
	}
	return wire.Heard(ctx, secured), nil
}

// tlsName returns the name of --sni, or of the Host field.
func (a *asker) tlsName(name string) string {
	if a.tls.Name != "" {
		return a.tls.Name.For(a.to)
	}
	if host, _, err := net.SplitHostPort(name); err == nil {
		return host
	}
	return strings.Trim(name, "[]")
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body []byte
	cut  bool // there is more
}

func (a *asker) get(ctx context.Context, where *url.URL) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, a.method, where.String(), strings.NewReader(a.body.For(a.to)))
	if err != nil {
		return nil, err
	}
	address := a.address("")
	if a.redirected(where) {
		address = a.address(portOf(where))
	}
	// Another port is another server, and without TLS others can read on the way.
	same := address == a.address("") && where.Scheme == a.scheme()
	a.fill(request.Header, same)
	if a.forced != "" && same {
		request.Host = a.forced.For(a.to)
	}
	if user, password, given := strings.Cut(string(a.login), ":"); given && same {
		request.SetBasicAuth(probe.Text(user).For(a.to), password)
	}
	if a.body == "" {
		request.Body, request.ContentLength = http.NoBody, 0
	} else if request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	transport := a.transport(address, where.Host)
	defer transport.CloseIdleConnections()
	a.say("%s %s", a.method, where.Redacted())
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, probe.Unread(err)
	}
	defer response.Body.Close()
	probe.Continue(ctx, "response")
	return a.read(response)
}

// fill adds the fields of the command. It adds the fields with credentials only if logIn.
func (a *asker) fill(head http.Header, logIn bool) {
	for _, field := range a.fields {
		name, value, _ := strings.Cut(field.For(a.to), ":")
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "Proxy-Authorization", "Cookie":
			if !logIn {
				continue
			}
		}
		head.Add(name, value)
	}
	head.Set("User-Agent", a.agent.For(a.to))
}

// transport returns a transport for a single request, which connects to address only.
func (a *asker) transport(address, authority string) *http.Transport {
	t := &http.Transport{DisableKeepAlives: !a.http2, DisableCompression: true, MaxResponseHeaderBytes: wire.Most,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return a.dial(ctx, address) },
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return a.secured(ctx, address, authority)
		},
		Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(!a.http2)
	t.Protocols.SetHTTP2(a.http2)
	t.Protocols.SetUnencryptedHTTP2(a.http2)
	return t
}

func (a *asker) read(r *http.Response) (*answer, error) {
	a.say("%s %s", r.Proto, r.Status)
	out := &answer{Response: r}
	if a.noBody {
		return out, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if len(body) > maxBody {
		body, out.cut = body[:maxBody], true
	}
	out.body = body
	if err != nil && !errors.Is(err, wire.ErrTooMuch) {
		return nil, fmt.Errorf("the body after %d bytes: %w", len(body), err)
	}
	out.cut = out.cut || err != nil
	return out, nil
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
