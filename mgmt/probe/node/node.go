// Package node checks a farm of another Sluice and reads its load: check_sluice. It needs
// an API key there with the right to see statistics.
package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

const (
	// apiPort is the default port of the API of a Sluice.
	apiPort = 444
	// most is the greatest length of an answer, in bytes: some thousand farms at one
	// address.
	most = 4 << 20
)

// check is a farm of another Sluice, by its virtual address and port.
type check struct {
	farm        probe.Host // its virtual address
	port        probe.Port
	name        string // of the farm, if several have its address and port; "" for any
	api         wire.Server
	key         probe.Text
	fingerprint []byte // SHA-256 of the certificate; nil: not checked
}

// Check is check_sluice.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{api: wire.Server{Port: apiPort, Secure: true}}
	f.Host(&c.farm, "H hostname")
	f.Port(&c.port, "p port")
	f.Value("farm", func(v string) error { c.name = v; return nil })
	f.Value("api", c.setAPI)
	f.Secret(&c.key, "k key")
	f.Version(&c.api.Version)
	f.Value("fingerprint", c.setFingerprint)
	c.api.TLS.Flags(f, "D certificate")
	f.Times()
	return func() (probe.Probe, error) {
		if c.key == "" {
			return nil, errors.New("an API key of the other Sluice is needed: -k KEY")
		}
		if c.api.Host == "" {
			c.api.Host = c.farm
		}
		return c, nil
	}
}

// setAPI reads the address of the API, if it is not the address of the farm: HOST:444,
// 10.0.0.9.
func (c *check) setAPI(v string) error {
	host, port, err := net.SplitHostPort(v)
	if err != nil {
		host, port = strings.Trim(v, "[]"), strconv.Itoa(apiPort)
	}
	if c.api.Port.Set(port) != nil || host == "" || strings.ContainsAny(host, "/@ ") {
		return fmt.Errorf("%q is no place of an API: write an address or a name, and :PORT if it is not 444", v)
	}
	c.api.Host = probe.Host(host)
	return nil
}

func (c *check) setFingerprint(v string) (err error) {
	c.fingerprint, err = hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(v), "sha256:"), ":", ""))
	if err != nil || len(c.fingerprint) != sha256.Size {
		return errors.New("a fingerprint is that of the certificate by SHA-256, in 64 hexadecimal digits")
	}
	return nil
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	answer, err := c.ask(ctx, n, to, say)
	if err != nil {
		return err
	}
	port := uint16(c.port)
	if port == 0 {
		port = to.Port
	}
	var why error
	load, up := uint64(0), false
	for _, f := range answer.Farms {
		if !f.takes(port) || c.name != "" && f.Name != c.name {
			continue
		}
		say("farm %s is %s, with %d connections", f.Name, f.Status, f.Established)
		if f.Status == farm.StatusDown || f.Status == farm.StatusCritical {
			why = fmt.Errorf("farm %s of the other Sluice is %s", probe.Line(f.Name), probe.Line(string(f.Status)))
			continue
		}
		up = true
		load += f.Established
	}
	switch {
	case up:
		probe.Report(ctx, load)
		return nil
	case why != nil:
		return why
	}
	what := "farm"
	if c.name != "" {
		what = "farm " + probe.Line(c.name)
	}
	return fmt.Errorf("the other Sluice has no %s at %s", what, net.JoinHostPort(c.farm.For(to), strconv.Itoa(int(port))))
}

// answer holds the needed part of the statistics of farms.
type answer struct {
	Farms []shown `json:"farms"`
}

type shown struct {
	Name        string       `json:"farmname"`
	Profile     farm.Profile `json:"profile"`
	VPort       string       `json:"vport"`
	Status      farm.Status  `json:"status"`
	Established uint64       `json:"established"`
}

// takes reports whether the farm forwards traffic to a port: a port in "80,443,8000:8010",
// or any port for "*". Port 0 is any. A farm that answers queries for names carries no
// traffic.
func (s *shown) takes(port uint16) bool {
	if s.Profile.Carries() == farm.TrafficQueries {
		return false
	}
	return port == 0 || s.VPort == "*" || slices.ContainsFunc(strings.Split(s.VPort, ","), func(part string) bool {
		first, last, span := strings.Cut(strings.TrimSpace(part), ":")
		if !span {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, other := strconv.ParseUint(last, 10, 16)
		return err == nil && other == nil && uint64(port) >= from && uint64(port) <= to
	})
}

func (c *check) ask(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (*answer, error) {
	where := url.URL{Scheme: "https", Host: c.api.Authority(to), Path: "/api/v4.0/stats/farms", RawQuery: url.Values{"vip": {c.farm.For(to)}}.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("ZAPI_KEY", string(c.key))
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: wire.Most, DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return c.open(ctx, n, to, say)
	}}
	defer transport.CloseIdleConnections()
	say("GET %s", where.String())
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, probe.Unread(err)
	}
	defer response.Body.Close()
	say("%s %s", response.Proto, response.Status)
	probe.Continue(ctx, "response")
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return nil, errors.New("401, the other Sluice does not know the API key")
	case http.StatusForbidden:
		return nil, errors.New("whose the API key is may not see the farm's statistics there")
	default:
		return nil, fmt.Errorf("answered %d, wanted 200", response.StatusCode)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	out := &answer{}
	if err := json.Unmarshal(body, out); err != nil || out.Farms == nil {
		return nil, errors.New("answered something else than statistics of farms: is it a Sluice?")
	}
	return out, nil
}

// open connects to the API and verifies the fingerprint of its certificate, if the command
// has one.
func (c *check) open(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (net.Conn, error) {
	plain, err := wire.Open(ctx, n, "tcp"+c.api.Version, c.api.Address(to), most)
	if err != nil {
		return nil, err
	}
	secured, err := c.api.TLS.Client(ctx, plain, c.api.Host, to, say)
	if err == nil && c.fingerprint != nil {
		if sum := sha256.Sum256(secured.ConnectionState().PeerCertificates[0].Raw); !bytes.Equal(sum[:], c.fingerprint) {
			err = fmt.Errorf("its certificate has the fingerprint %x, not the one wanted", sum)
		}
	}
	if err != nil {
		_ = plain.Close()
		return nil, err
	}
	probe.Step(ctx, "request")
	return wire.Heard(ctx, secured), nil
}
